-- SPDX-License-Identifier: Apache-2.0
-- A program in Lua 5.3 and later whose stacks are known: victim.lua SCENARIO runs one for ever.
--
-- What a caller's line must be is marked: "# -> CALLEE ...".
local function spin(n)
	local sum = 0
	for i = 1, n do
		sum = (sum * 7 + i) % 16777216
	end
	return sum
end

local scenarios = {}

-- Time: 60, 30, 10.
local function a(n) local r = spin(n * 6) return r + 1 end	-- # -> spin
local function b(n) local r = spin(n * 3) return r + 1 end	-- # -> spin
local function c(n) local r = spin(n) return r + 1 end		-- # -> spin

function scenarios.split_time()
	local x = a(1370)		-- # -> a
	local y = b(1370)		-- # -> b
	local z = c(1370)		-- # -> c
	return x + y + z
end

local function down(n)
	local r
	if n == 1 then
		r = spin(20000)		-- # -> spin
	else
		r = down(n - 1)		-- # -> down
	end
	return r + 1
end

function scenarios.recursion()
	local r = down(500)		-- # -> down
	return r + 1
end

local function thrower(n)
	spin(n)				-- # -> spin
	error({ n })			-- # -> error
end

local function handler(n)
	local r = spin(n)		-- # -> spin
	return r + 1
end

function scenarios.exceptions()
	local good, why = pcall(thrower, 5000)	-- # -> pcall
	local r = handler(why[1])	-- # -> handler
	return not good and r + 1
end

function scenarios.closures()
	local factor = 3
	local inner = function(n) local r = spin(n * factor) return r + factor end	-- # -> spin
	local outer = function(n) local r = inner(n) return r + 1 end			-- # -> inner
	local r = outer(3000)		-- # -> outer
	return r + 1
end

-- Each has a stack of its own, of Lua; one resumes the other.
function scenarios.coroutines()
	local step = coroutine.wrap(function()
		local deeper = coroutine.wrap(function()
			for _ = 1, 5 do
				spin(3000)			-- # -> spin
				coroutine.yield(1)		-- # -> yield
			end
		end)
		for _ = 1, 5 do
			deeper()				-- # -> deeper
			spin(3000)				-- # -> spin
			coroutine.yield(2)			-- # -> yield
		end
	end)
	for _ = 1, 5 do
		step()			-- # -> step
	end
	spin(3000)			-- # -> spin
end

local function key(n)
	local r = spin(300)		-- # -> spin
	return r * 0 + n
end

function scenarios.sorting()
	local list = {}
	for i = 1, 64 do
		list[i] = i * 7919 % 64
	end
	table.sort(list, function(x, y)	-- # -> sort
		local k = key(x)	-- # -> key
		return k < y
	end)
end

function scenarios.substitution()
	local text = ("abc "):rep(10):gsub("%a+", function(word)
		local r = spin(2000)	-- # -> spin
		return word .. r
	end)
	return text
end

local Account = {}
Account.__index = Account
Account.__add = function(x, n) local r = spin(n) return r + x.balance end	-- # -> spin
Account.__lt = function(x, y) local r = spin(3000) return r + x.balance < y.balance end	-- # -> spin

function Account:deposit(n)
	local r = spin(n)		-- # -> spin
	self.balance = r
	return r
end

function scenarios.objects()
	local account = setmetatable({ balance = 0 }, Account)
	account:deposit(20000)		-- # -> deposit
end

function scenarios.operators()
	local account = setmetatable({ balance = 0 }, Account)
	local other = setmetatable({ balance = 1 }, Account)
	local r = account + 3000	-- # -> metamethod
	local less = account < other	-- # -> metamethod
	return less and r
end

local function range(last)
	return function(_, n)
		spin(3000)		-- # -> spin
		if n < last then
			return n + 1
		end
	end, nil, 0
end

function scenarios.iterators()
	local r = 0
	for n in range(20) do	
		r = r + n
	end
	return r
end

local function second(n)
	local r = spin(n)		-- # -> spin
	return r + 1
end

local function first(n)
	return second(n)
end

function scenarios.tail_calls()
	local r = first(20000)
	return r + 1
end

local function several(...)
	local r = spin(select("#", ...) * 1000)	-- # -> spin select
	return r + 1
end

function scenarios.arguments()
	local r = several(1, 2, 3, 4, 5)	-- # -> several
	return r + 1
end

local chunk = load("local spin = ... local r = spin(20000) return r + 1")

function scenarios.loaded()
	local r = chunk(spin)
	return r + 1
end

function scenarios.strings()
	local list = {}
	for i = 1, 200 do
		list[#list + 1] = string.format("%d %s", i, ("x"):rep(50))
	end
	return #table.concat(list)
end

local function make(n)
	if n == 0 then
		return {}
	end
	return { left = make(n - 1), right = make(n - 1) }	-- # -> make
end

function scenarios.garbage()
	local tree = make(10)		-- # -> make
	return tree
end

-- Hardly anything but calls and returns.
local function fib(n)
	if n < 2 then
		return n
	end
	return fib(n - 1) + fib(n - 2)	-- # -> fib
end

function scenarios.small_calls()
	local r = fib(20)		-- # -> fib
	return r + 1
end

local work = scenarios[arg[1]]
while true do
	work()				-- # -> work
end
