# SPDX-License-Identifier: Apache-2.0
# Before a victim: stackprof samples it until it is told to end, and /tmp/stackprof.json has the share of samples that
# each function is in.
require "json"
require "stackprof"

trap("TERM") do
  StackProf.stop
  result = StackProf.results
  shares = result[:frames].values.to_h { |f| [f[:name], f[:total_samples].fdiv(result[:samples])] }
  File.write("/tmp/stackprof.json", JSON.dump({ samples: result[:samples], shares: shares }))
  exit!(0)
end
StackProf.start(mode: :cpu, interval: 2003)
