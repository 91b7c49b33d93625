-- SPDX-License-Identifier: Apache-2.0
-- A program in Lua 5.1 and later whose stacks are known: victim.lua SCENARIO [FILE] runs one for ever. With a file it first
-- looks at its own tracebacks for a while, and writes there which functions were in how many of them.
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

-- What handles errors runs inside of what has failed: one that was no function has a name by that call, of the handler.
function scenarios.handlers()
	local function handler()
		local r = spin(3000)	-- # -> spin
		return r + 1
	end
	local good = xpcall(function()	-- # -> xpcall
		local nothing
		spin(3000)		-- # -> spin
		nothing()		-- # -> nothing
	end, handler)
	return good
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

-- What goes on after a yield inside of pcall() has no native frames of those that had called it. Not in 5.1.
local function yielder()
	while true do
		spin(3000)					-- # -> spin
		coroutine.yield(1)				-- # -> yield
	end
end

local function guarded()
	local good = pcall(yielder)				-- # -> pcall
	return good
end

function scenarios.yielding()
	local step = coroutine.wrap(function()
		for _ in guarded do			
			spin(1)
		end
	end)
	for _ = 1, 20 do
		step()			-- # -> step
	end
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

local chunk = (loadstring or load)("local spin = ... local r = spin(20000) return r + 1")

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

-- Of a host, which has a function that spoils what Lua knows of its calls.
function scenarios.spoilt()
	spin(3000)
	spoil()
end

local function write_shares(path, count, seen)
	local texts = {}
	for name, times in pairs(seen) do
		texts[#texts + 1] = ("%q: %.4f"):format(name, times / count)
	end
	local file = io.open(path .. ".new", "w")
	file:write(('{"samples": %d, "shares": {%s}}'):format(count, table.concat(texts, ", ")))
	file:close()
	os.rename(path .. ".new", path)
end

-- Names in a line of a traceback, without the kinds and modules that some versions add.
local function name_in(line)
	local name = line:match("in [%a ]+ [`'](.+)'$")
	if line:match("in metamethod") or name and name:match("^__") then
		return "metamethod"
	end
	return name and name:match("[^.]+$") or line:match("in (main chunk)") or line:match("in (function <.*>)")
end

local function look_at_myself(path)
	local count, seen = 0, {}
	debug.sethook(function()
		local names = {}
		for line in debug.traceback("", 2):gmatch("[^\n]+") do
			names[name_in(line) or ""] = true
		end
		names[""] = nil
		for name in pairs(names) do
			seen[name] = (seen[name] or 0) + 1
		end
		count = count + 1
		if count == 2000 then
			debug.sethook()
			write_shares(path, count, seen)
		end
	end, "", 10007)
end

if arg[2] then
	look_at_myself(arg[2])
end
local work = scenarios[arg[1]]
while true do
	work()				-- # -> work
end
