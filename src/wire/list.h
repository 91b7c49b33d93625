/* SPDX-License-Identifier: Apache-2.0 */
/* The formats, in the order in which contents are tried. */
FORMAT(otlp)
FORMAT(json)
FORMAT(perfdata)
FORMAT(pprof)
FORMAT(folded)
FORMAT(speedscope)
FORMAT(svg)
FORMAT(html)
FORMAT(firefox)
FORMAT(perfetto)
FORMAT(pgo)
FORMAT(llvm_pgo)
