# SPDX-License-Identifier: Apache-2.0
# An Elixir program whose stacks are known, as test/victims/beam/victim.erl is one of Erlang.
defmodule Victim.Chain do
  def spin(0, sum), do: sum
  def spin(n, sum), do: spin(n - 1, Bitwise.band(sum * 7 + n, 0xFFFFFF))

  def outer(n) do
    r = middle(n) # -> middle
    r + 1
  end

  def middle(n) do
    [r | _] = Enum.map([n, n], fn x -> inner!(x) + 1 end) # -> inner!
    r + 1
  end

  def inner!(n) do
    r = spin(n, 0) # -> spin
    r + 1
  end

  def forever do
    outer(20000) # -> outer
    forever()
  end
end

IO.puts(System.pid())
Victim.Chain.forever()
