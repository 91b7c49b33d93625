# SPDX-License-Identifier: Apache-2.0
# A Ruby program whose stacks are known: victim.rb SCENARIO runs one for ever. It prints its pid when it is there.
#
# What a caller's line must be is marked: "# -> CALLEE". Runs on Ruby 2.7 and later. Nothing but what is to be seen
# calls functions that are written in C.

def spin(n)
  total = 0
  i = 0
  while i < n
    total = total + i & 1023
    i += 1
  end
  total
end

def a(n)
  total = 0
  i = 0
  while i < n
    total = total + i & 1023
    i += 1
  end
  total
end

def b(n)
  total = 0
  i = 0
  while i < n
    total = total + i & 1023
    i += 1
  end
  total
end

def c(n)
  total = 0
  i = 0
  while i < n
    total = total + i & 1023
    i += 1
  end
  total
end

# Rounds of one length, or of some that come again, could keep step with the sampler's clock: lengths are by chance.
def split
  chance = 1
  while true
    chance = (chance * 1103 + 12345) % 65536
    length = 300 + chance % 1401
    a(6 * length) # -> a
    b(3 * length) # -> b
    c(1 * length) # -> c
  end
end

def down(n)
  return down(n - 1) if n > 0 # -> down
  spin(30_000) # -> spin
end

def recursion
  while true
    down(499) # -> down
  end
end

def thrower
  spin(2000) # -> spin
  raise ArgumentError, "expected"
end

def handler
  spin(2000) # -> spin
end

def catcher
  thrower # -> thrower
rescue ArgumentError
  handler # -> handler
end

def exceptions
  while true
    catcher # -> catcher
  end
end

def ensured
  spin(2000) # -> spin
ensure
  spin(2000) # -> spin
end

def ensuring
  while true
    ensured # -> ensured
  end
end

def yielder
  yield spin(1000) # -> spin
end

def blocks
  while true
    yielder do # -> yielder
      yielder do # -> yielder
        spin(1000) # -> spin
      end
    end
  end
end

NUMBERS = [3, 1, 2, 5, 4].freeze

def iterating
  while true
    NUMBERS.each { |n| spin(200 * n) } # -> spin
  end
end

# As little as possible in each call of the block.
def tiny
  while true
    NUMBERS.each { |n| n }
  end
end

def key(value)
  spin(1500) # -> spin
  -value
end

def sorting
  while true
    NUMBERS.sort_by { |n| key(n) } # -> key
  end
end

def replace(text)
  spin(2000) # -> spin
  text
end

def substitution
  while true
    "one two three".gsub(/\w+/) { |m| replace(m) } # -> replace
  end
end

module Shared
  def shared
    spin(2000) # -> spin
  end
end

class Base
  include Shared

  def initialize
    shared # -> shared
  end

  def self.build
    new
  end

  class << self
    def also
      build # -> build
    end
  end
end

class Derived < Base
  def initialize
    super() # -> initialize
  end

  define_method(:made) { spin(2000) } # -> spin

  class Größe_長さ
    def größe
      spin(2000) # -> spin
    end
  end
end

def objects
  while true
    Derived.also # -> also
  end
end

def made_methods
  object = Derived.build
  while true
    object.made # -> made
  end
end

def unicode_names
  object = Derived::Größe_長さ.new
  while true
    object.größe # -> größe
  end
end

def evaluated
  while true
    eval("spin(20000)", TOPLEVEL_BINDING, "/made/up.rb", 7)
  end
end

def numbers
  return to_enum(:numbers) unless block_given?
  while true
    yield spin(2000) # -> spin
  end
end

# Each has a stack of its own.
def generators
  generator = numbers
  while true
    generator.next
  end
end

def fibers
  fiber = Fiber.new do
    while true
      spin(2000) # -> spin
      Fiber.yield
    end
  end
  while true
    fiber.resume
  end
end

def thread_body
  while true
    spin(2000) # -> spin
  end
end

def threads
  all = (1..8).map { Thread.new { thread_body } } # -> thread_body
  all.each(&:join)
end

def ractors
  all = (1..2).map { Ractor.new { thread_body } } # -> thread_body
  all.each(&:take)
end

# One that computes in C without the lock, beside one that has it.
def unlocked
  Thread.new { thread_body } # -> thread_body
  while true
    Native.compute
  end
end

class Callback
  def called
    spin(2000) # -> spin
  end
end

def native
  object = Callback.new
  while true
    Native.call(object) { spin(2000) } # -> spin
  end
end

def garbage
  while true
    NUMBERS.each { "a text that is not short enough to be kept inside of the object" + "more" }
  end
end

# Spoils, at random, what it never looks at itself but a profiler does: names, file and lines of running code.
def corrupt
  random = Random.new(ENV["VICTIM_SEED"].to_i)
  sequence = RubyVM::InstructionSequence.of(method(:spin))
  GC.disable
  while true
    spin(2000)
    Native.spoil(sequence, random.rand(1 << 16))
  end
end

NATIVE = %w[native unlocked corrupt].freeze

def main
  require "/tmp/native.so" if NATIVE.include?(ARGV[0])
  $stdout.puts(Process.pid)
  $stdout.flush
  send(ARGV[0]) # -> any
end

main
