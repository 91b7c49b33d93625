# SPDX-License-Identifier: Apache-2.0
"""A chain of Python and WebAssembly, which wasmtime compiles; its argument is how it tells of that."""
import os
import sys

import wasmtime

TEXT = """(module
 (func $leaf (param i64) (result i64) (local $i i32)
  (loop $again
   (local.set 0 (i64.add (i64.mul (local.get 0) (i64.const 6364136223846793005)) (i64.const 1442695040888963407)))
   (local.set $i (i32.add (local.get $i) (i32.const 1)))
   (br_if $again (i32.lt_u (local.get $i) (i32.const 100000))))
  (local.get 0))
 (func $middle (param i64) (result i64) (i64.xor (call $leaf (local.get 0)) (i64.const 5)))
 (func $outer (export "outer") (param i64) (result i64) (i64.xor (call $middle (local.get 0)) (i64.const 9))))"""

config = wasmtime.Config()
config.profiler = sys.argv[1]
engine = wasmtime.Engine(config)
store = wasmtime.Store(engine)
outer = wasmtime.Instance(store, wasmtime.Module(engine, TEXT), []).exports(store)["outer"]


def work(n):
    while True:
        n = outer(store, n)


print(os.getpid(), flush=True)
work(1)
