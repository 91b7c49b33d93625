%% SPDX-License-Identifier: Apache-2.0
%% An Erlang program whose stacks are known: -run victim main SCENARIO runs one for ever. It prints its pid when it is there.
%%
%% What a caller's line must be is marked: "# -> CALLEE ...". With JUDGE=FILE in the environment a process of high priority
%% asks for the stack of the one that works, and keeps shares of functions there; with PIDS=FILE pids are written there.
-module(victim).
-export([main/1, native/1, spoil/1, init/1, handle_call/3, handle_cast/2, 'größe'/1]).
-behaviour(gen_server).
-compile({no_auto_import, [processes/0]}).

main([Name]) ->
	Scenario = list_to_atom(Name),
	_ = [judge(self(), File) || File <- [os:getenv("JUDGE")], File =/= false],
	io:format("~s~n", [os:getpid()]),
	forever(fun() -> scenario(Scenario) end).

forever(Work) ->
	Work(),						% # -> scenario split_time
	forever(Work).

scenario(split_time) -> split_time(), ok;		% # -> split_time
scenario(recursion) -> recursion(), ok;			% # -> recursion
scenario(exceptions) -> exceptions(), ok;		% # -> exceptions
scenario(catching) -> catching(), ok;			% # -> catching
scenario(closures) -> closures(), ok;			% # -> closures
scenario(mapping) -> mapping(), ok;			% # -> mapping
scenario(comprehension) -> comprehension(), ok;		% # -> comprehension
scenario(sorting) -> sorting(), ok;			% # -> sorting
scenario(unicode_names) -> unicode_names(), ok;		% # -> unicode_names
scenario(many_values) -> many_values(), ok;		% # -> many_values
scenario(garbage) -> garbage(), ok;			% # -> garbage
scenario(large_numbers) -> large_numbers(), ok;		% # -> large_numbers
scenario(builtins) -> builtins(), ok;			% # -> builtins
scenario(tables) -> tables(), ok;			% # -> tables
scenario(matching) -> matching(), ok;			% # -> matching
scenario(small_calls) -> small_calls(), ok;		% # -> small_calls
scenario(natively) -> natively(), ok;			% # -> natively
scenario(dynamic) -> dynamic(), ok;			% # -> dynamic
scenario(reloaded) -> reloaded(), ok;			% # -> reloaded
scenario(spoilt) -> spoilt(), ok;			% # -> spoilt
scenario(server) -> server(), ok;			% # -> server
scenario(processes) -> processes(), ok.			% # -> processes

spin(0, Sum) -> Sum;
spin(N, Sum) -> spin(N - 1, (Sum * 7 + N) band 16#ffffff).

%% Time: 60, 30, 10. A process answers the judge when it yields, each 4000 calls: at another place each time.
split_time() ->
	A = a(8220),					% # -> a
	B = b(4110),					% # -> b
	C = c(1370),					% # -> c
	A + B + C.

a(N) -> R = spin(N, 0), R + 1.				% # -> spin
b(N) -> R = spin(N, 0), R + 1.				% # -> spin
c(N) -> R = spin(N, 0), R + 1.				% # -> spin

recursion() -> R = down(500), R + 1.			% # -> down

down(1) -> R = spin(100000, 0), R + 1;			% # -> spin
down(N) -> R = down(N - 1), R + 1.			% # -> down

exceptions() -> R = catcher(), R + 1.			% # -> catcher

catcher() ->
	try
		thrower(20000)				% # -> thrower
	catch
		throw:N -> R = handler(N), R + 1	% # -> handler
	end.

thrower(N) -> _ = spin(N, 0), throw(N).			% # -> spin
handler(N) -> R = spin(N, 0), R + 1.			% # -> spin

catching() ->
	{'EXIT', _} = (catch failing(20000)),		% # -> failing
	ok.

failing(N) -> R = spin(N, 0), error({bad, R}).		% # -> spin

closures() ->
	Factor = 3,
	Inner = fun(N) -> R = spin(N * Factor, 0), R + Factor end,	% # -> spin
	Outer = around(Inner),
	R = Outer(5000),				% # -> -around/1-fun-0-
	R + 1.

%% The compiler inlines a function that is called where it is made.
around(Inner) -> fun(N) -> R = Inner(N), R + 1 end.	% # -> -closures/0-fun-0-

mapping() ->
	[_ | _] = lists:map(fun(N) -> R = spin(N, 0), R + 1 end, lists:duplicate(20, 3000)),	% # -> spin
	ok.

comprehension() ->
	[_ | _] = [begin R = spin(N, 0), R + 1 end || N <- [3000, 3000, 3000]],	% # -> spin
	ok.

sorting() ->
	[_ | _] = lists:sort(fun(A, B) -> key(A) =< key(B) end, [I * 7919 rem 64 || I <- lists:seq(1, 64)]),	% # -> key
	ok.

key(N) -> R = spin(500, N), R * 0 + N.			% # -> spin

unicode_names() -> R = 'größe'(20000), R + 1.		% # -> größe

'größe'(N) -> R = spin(N, 0), R + 1.			% # -> spin

%% A frame with more values than are read at once.
many_values() ->
	V = lists:seq(1, 90),
	[A1, A2, A3, A4, A5, A6, A7, A8, A9, A10, A11, A12, A13, A14, A15, A16, A17, A18, A19, A20, A21, A22, A23, A24, A25, A26,
	 A27, A28, A29, A30, A31, A32, A33, A34, A35, A36, A37, A38, A39, A40, A41, A42, A43, A44, A45, A46, A47, A48, A49, A50,
	 A51, A52, A53, A54, A55, A56, A57, A58, A59, A60, A61, A62, A63, A64, A65, A66, A67, A68, A69, A70, A71, A72, A73, A74,
	 A75, A76, A77, A78, A79, A80, A81, A82, A83, A84, A85, A86, A87, A88, A89, A90] = V,
	R = spin(50000, 0),				% # -> spin
	R + A1 + A2 + A3 + A4 + A5 + A6 + A7 + A8 + A9 + A10 + A11 + A12 + A13 + A14 + A15 + A16 + A17 + A18 + A19 + A20 + A21 +
	A22 + A23 + A24 + A25 + A26 + A27 + A28 + A29 + A30 + A31 + A32 + A33 + A34 + A35 + A36 + A37 + A38 + A39 + A40 + A41 +
	A42 + A43 + A44 + A45 + A46 + A47 + A48 + A49 + A50 + A51 + A52 + A53 + A54 + A55 + A56 + A57 + A58 + A59 + A60 + A61 +
	A62 + A63 + A64 + A65 + A66 + A67 + A68 + A69 + A70 + A71 + A72 + A73 + A74 + A75 + A76 + A77 + A78 + A79 + A80 + A81 +
	A82 + A83 + A84 + A85 + A86 + A87 + A88 + A89 + A90.

garbage() -> [_ | _] = waste(5000, []), ok.		% # -> waste

waste(0, Kept) -> Kept;
waste(N, Kept) when N rem 10 =:= 0 -> waste(N - 1, [{N, lists:seq(1, 20)} | Kept]);
waste(N, Kept) -> _ = lists:seq(1, 50), waste(N - 1, Kept).

large_numbers() -> R = factorial(300), R > 1.		% # -> factorial

factorial(0) -> 1;
factorial(N) -> N * factorial(N - 1).			% # -> factorial

builtins() -> R = hashes(200), R + 1.			% # -> hashes

hashes(0) -> 0;
hashes(N) ->
	B = term_to_binary(lists:seq(1, 2000)),
	R = erlang:crc32(B) + erlang:phash2(B),
	R band 1 + hashes(N - 1).			% # -> hashes

%% Some of it is done in turns: what is built in stops now and then, for other processes, and is called once more.
tables() ->
	_ = [put(rows, [{N, N} || N <- lists:seq(3000, 9000)]) || get(rows) =:= undefined],
	T = ets:new(t, [ordered_set]),
	_ = [fill(T, 400, Round) || Round <- [1, 2, 3, 4, 5]],	% # -> fill
	true = ets:insert(T, get(rows)),
	5000 = ets:select_count(T, [{{'_', '$1'}, [{'>', '$1', 4000}], [true]}]),
	true = ets:delete(T).

fill(_, 0, _) -> 0;
fill(T, N, Round) ->
	true = ets:insert(T, {N * Round * 7919 rem 2003, N}),
	1 + fill(T, N - 1, Round).			% # -> fill

matching() ->
	{match, _} = re:run([binary:copy(<<"abc def ">>, 2000), "end"], "(\\w+) (\\w+)$", []),
	[_ | _] = binary:matches(binary:copy(<<"abcdef">>, 2000), <<"ef">>),
	ok.

%% Hardly anything but calls and returns.
small_calls() -> R = fib(22), R + 1.			% # -> fib

fib(N) when N < 2 -> N;
fib(N) -> fib(N - 1) + fib(N - 2).			% # -> fib

%% native.c takes the place of native/1.
natively() ->
	_ = [ok = erlang:load_nif(Path, 0) || get(loaded) =:= undefined, Path <- [os:getenv("VICTIM_NATIVE")]],
	put(loaded, true),
	R = native(300000),
	S = spin(1000, 0),				% # -> spin
	R + S.

native(_) -> erlang:nif_error(not_loaded).
spoil(_) -> erlang:nif_error(not_loaded).

%% Spoils what debuggers read.
spoilt() ->
	_ = natively(),
	N = case get(spoilt) of undefined -> list_to_integer(os:getenv("VICTIM_SEED")); Last -> Last end,
	put(spoilt, (N * 7 + 1) band 16#ffff),
	_ = spoil(N),
	R = spin(3000000, 0),				% # -> spin
	R + 1.

dynamic() ->
	R = apply(?MODULE, list_to_existing_atom("größe"), [20000]),	% # -> größe
	R + 1.

%% The code of a module is replaced again and again: one/1 and two/1 are, in turn, in the same memory.
reloaded() ->
	_ = [put(Name, code_of(Name)) || Name <- [one, two], get(Name) =:= undefined],
	[begin
		 {module, other} = code:load_binary(other, "other.erl", get(Name)),
		 R = other:Name(fun() -> busy(Name) end),	% # -> one two
		 code:purge(other),
		 R
	 end || Name <- [one, two]].

busy(_) -> R = spin(12000000, 0), R + 1.			% # -> spin

code_of(Name) ->
	Lines = [case Name of two -> "unused(X) -> {X, X, X, X}.\n"; one -> "" end,
		 io_lib:format("~s(Work) -> R = Work(), {R, 1}.~n", [Name])],
	Forms = [begin {ok, Tokens, _} = erl_scan:string(lists:flatten(L)), {ok, Form} = erl_parse:parse_form(Tokens), Form end ||
		 L <- ["-module(other).\n", "-compile(export_all).\n" | [X || X <- Lines, X =/= ""]]],
	{ok, other, Binary} = compile:forms(Forms, [nowarn_export_all]),
	Binary.

server() ->
	_ = [put(server, element(2, gen_server:start_link(?MODULE, [], []))) || get(server) =:= undefined],
	_ = gen_server:call(get(server), work),
	ok.

init([]) -> {ok, none}.

handle_call(work, _From, State) ->
	R = spin(50000, 0),				% # -> spin
	{reply, R, State}.

handle_cast(_, State) -> {noreply, State}.

processes() ->
	Pids = [spawn_monitor(fun() -> forever(fun() -> split_time() end) end) || _ <- lists:seq(1, 8)],	% # -> split_time
	_ = [ok = file:write_file(File, io_lib:format("~p", [[Pid || {Pid, _} <- Pids]])) || File <- [os:getenv("PIDS")], File =/= false],
	receive {'DOWN', _, process, _, _} -> Pids end.

%% Shares of functions in the stacks that the runtime itself tells.
judge(Pid, File) ->
	_ = erlang:system_flag(backtrace_depth, 600),
	spawn_opt(fun() -> judge(Pid, File, 0, #{}) end, [{priority, high}]).

judge(Pid, File, Count, Seen) ->
	receive after rand:uniform(3) -> ok end,
	case process_info(Pid, current_stacktrace) of
		{current_stacktrace, Stack} ->
			Names = lists:usort([io_lib:format("~tw:~tw/~b", [M, F, A]) || {M, F, A, _} <- Stack]),
			More = lists:foldl(fun(N, S) -> S#{N => maps:get(N, S, 0) + 1} end, Seen, Names),
			_ = [keep(File, Count + 1, More) || Count rem 50 =:= 0],
			judge(Pid, File, Count + 1, More);
		undefined -> ok
	end.

keep(File, Count, Seen) ->
	Shares = lists:join(",", [io_lib:format("\"~ts\":~f", [N, S / Count]) || {N, S} <- maps:to_list(Seen)]),
	Text = io_lib:format("{\"samples\":~b,\"shares\":{~ts}}", [Count, Shares]),
	ok = file:write_file(File ++ ".new", unicode:characters_to_binary(Text)),
	ok = file:rename(File ++ ".new", File).
