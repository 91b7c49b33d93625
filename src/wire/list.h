/* SPDX-License-Identifier: Apache-2.0 */
/* The formats, in the order in which contents are tried. */
FORMAT(otlp)
FORMAT(json)
FORMAT(pprof)
FORMAT(folded)
FORMAT(speedscope)
FORMAT(svg)
FORMAT(html)
FORMAT(firefox)
FORMAT(perfetto)
FORMAT(perfdata)
FORMAT(pgo)
FORMAT(llvm_pgo)
