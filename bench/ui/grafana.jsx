// SPDX-License-Identifier: Apache-2.0
// Shows ?f=FILE, the tree that generate.mjs writes, with Grafana's flame graph.
import React from "react";
import { createRoot } from "react-dom/client";
import { FlameGraph } from "@grafana/flamegraph";
import { createDataFrame, createTheme } from "@grafana/data";

function columns(root) {
  const level = [], value = [], self = [], label = [], open = [[root, 0]];
  while (open.length) {
    const [node, depth] = open.pop(), below = node.children.reduce((sum, child) => sum + child.value, 0);
    level.push(depth);
    value.push(node.value);
    self.push(node.value - below);
    label.push(node.name);
    for (let i = node.children.length - 1; i >= 0; i--)
      open.push([node.children[i], depth + 1]);
  }
  return { level, value, self, label };
}

const data = await (await fetch(new URLSearchParams(location.search).get("f"))).json(), tree = columns(data);
const frame = createDataFrame({ fields: Object.entries(tree).map(([name, values]) => ({ name, values })) });
createRoot(document.getElementById("root")).render(<FlameGraph data={frame} getTheme={() => createTheme({ colors: { mode: "light" } })} />);
