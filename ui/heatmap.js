// A heat map over time: columns are time, rows are whatever the marks at its left say, from the floor up.
import { brush, prepare, ticks } from "./chart.js";
import { tick } from "./time.js";

const LEFT = 56, FLOOR = 18, INK = [232, 89, 12];

export class HeatMap {
  // choose(from, to): what was dragged over, in seconds. click(time, share of the height from the floor), if there is one.
  constructor(canvas, choose, click = null) {
    this.canvas = canvas;
    const at = share => this.data.from + share * (this.data.to - this.data.from);
    brush(canvas, dragged => this.draw(dragged), (from, to) => choose(at(from), at(to)),
          click && ((x, y) => click(at(x), 1 - y / (canvas.clientHeight - FLOOR))), LEFT);
    new ResizeObserver(() => this.draw()).observe(canvas);
  }

  // { from, to, columns, rows, cells: by column and row, marks: [[share of the height, text], ...] }
  show(data) {
    this.data = data;
    const { columns, rows, cells } = data, max = cells.reduce((most, value) => Math.max(most, value), 0);
    const image = this.image = new OffscreenCanvas(columns, rows), context = image.getContext("2d"), pixels = context.createImageData(columns, rows);
    for (let column = 0; column < columns; column++)
      for (let row = 0; row < rows; row++)
        pixels.data.set([...INK, max ? 255 * Math.sqrt(cells[column * rows + row] / max) : 0], ((rows - 1 - row) * columns + column) * 4);
    context.putImageData(pixels, 0, 0);
    this.draw();
  }

  draw(dragged = null) {
    if (!this.image || !this.canvas.clientWidth)
      return;
    const { context, width, height } = prepare(this.canvas), style = getComputedStyle(document.documentElement), wide = width - LEFT, floor = height - FLOOR;
    context.fillStyle = style.getPropertyValue("--empty");
    context.fillRect(LEFT, 0, wide, floor);
    context.imageSmoothingEnabled = false;
    context.drawImage(this.image, LEFT, 0, wide, floor);
    this.axes(context, wide, floor, style);
    if (dragged) {
      context.fillStyle = "#8886";
      context.fillRect(LEFT + dragged[0] * wide, 0, (dragged[1] - dragged[0]) * wide, floor);
    }
  }

  axes(context, wide, floor, style) {
    const { from, to, marks } = this.data, length = to - from, times = ticks(from, to, Math.max(2, Math.floor(wide / 110)));
    context.fillStyle = style.getPropertyValue("--dim");
    context.font = "11px system-ui, sans-serif";
    context.textBaseline = "middle";
    context.textAlign = "right";
    for (const [share, text] of marks)
      context.fillText(text, LEFT - 6, Math.min(floor - 6, Math.max(7, floor * (1 - share))));
    context.textAlign = "center";
    for (const at of times) {
      const text = tick(at, times[1] - times[0] || length, length), half = context.measureText(text).width / 2;
      context.fillText(text, Math.min(LEFT + wide - half, Math.max(LEFT + half, LEFT + (at - from) / length * wide)), floor + FLOOR - 7);
    }
  }
}
