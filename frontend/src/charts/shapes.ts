/** Shapes on a canvas: those of the statuses, crosses, hatching. */

import type { Status } from "../api/client";

/** Draw the shape of a status: a diamond, a disc, a ring, a square. The pages show the same ones beside words. */
export function drawStatusShape(
  canvas: CanvasRenderingContext2D,
  status: Status,
  x: number,
  y: number,
  radius: number,
  paper: string,
): void {
  canvas.beginPath();
  if (status === "new") {
    canvas.moveTo(x, y - radius * 1.15);
    canvas.lineTo(x + radius * 1.15, y);
    canvas.lineTo(x, y + radius * 1.15);
    canvas.lineTo(x - radius * 1.15, y);
    canvas.closePath();
  } else if (status === "ticket") {
    canvas.rect(x - radius * 0.9, y - radius * 0.9, radius * 1.8, radius * 1.8);
  } else {
    canvas.arc(x, y, radius, 0, 2 * Math.PI);
  }
  if (status !== "hidden") {
    canvas.fill();
    return;
  }
  canvas.save();
  canvas.fillStyle = paper;
  canvas.fill();
  canvas.restore();
  canvas.stroke();
}

export function drawCross(canvas: CanvasRenderingContext2D, x: number, y: number, size: number): void {
  canvas.beginPath();
  canvas.moveTo(x - size, y - size);
  canvas.lineTo(x + size, y + size);
  canvas.moveTo(x - size, y + size);
  canvas.lineTo(x + size, y - size);
  canvas.stroke();
}

/** Fill a box with slanted lines over a faint tint. */
export function fillHatched(
  canvas: CanvasRenderingContext2D,
  left: number,
  top: number,
  width: number,
  height: number,
  gap: number,
): void {
  canvas.save();
  canvas.beginPath();
  canvas.rect(left, top, width, height);
  canvas.clip();
  canvas.globalAlpha *= 0.35;
  canvas.fillRect(left, top, width, height);
  canvas.globalAlpha /= 0.35;
  canvas.beginPath();
  for (let x = left - height; x < left + width; x += gap) {
    canvas.moveTo(x, top + height);
    canvas.lineTo(x + height, top);
  }
  canvas.stroke();
  canvas.restore();
}
