%% SPDX-License-Identifier: Apache-2.0
-module(chain).
-export([main/0]).

leaf(0, X) -> X;
leaf(N, X) -> leaf(N - 1, (X + N) band 16#ffff).

middle(X) -> leaf(10000, X) bxor 5.

outer(X) -> middle(X) bxor 9.

loop(X) -> loop(outer(X)).

main() ->
	io:format("~s~n", [os:getpid()]),
	loop(1).
