import { createColors } from 'picocolors';

/**
 * What a terminal obeys: commands to it (OSC, such as a title), those with parameters (CSI, such as a colour), and short ones.
 * No part passes over the beginning of another one, so each character is looked at a few times however hostile the text is:
 * `stripVTControlCharacters` of Node takes minutes for a megabyte.
 */
const SEQUENCES = new RegExp(
  [
    String.raw`(?:\x1b\]|\x9d)[^\x07\x18\x1a\x1b\x80-\x9f]*(?:\x07|\x1b\\|\x9c)`,
    String.raw`(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]`,
    String.raw`\x1b[ -/]*[0-OQ-WYZ\\\x60-~]`,
  ].join('|'),
  'g',
);

/** A text of another program on one line, with nothing in it that a terminal would obey. */
export function plainLine(text: string): string {
  return text
    .replace(SEQUENCES, '')
    .replace(/[\p{Cc}\u202a-\u202e\u2066-\u2069]+/gu, ' ')
    .trim();
}

/** Colours for a stream: none where it is no terminal, or where NO_COLOR is set. */
export function colorsFor(stream: { isTTY?: boolean }) {
  return createColors(stream.isTTY === true && !process.env.NO_COLOR);
}

/** How long something took: `4.2 s`, `3 min 20 s`, `2 h 5 min`. */
export function durationText(seconds: number): string {
  if (seconds < 60) return `${seconds.toFixed(1)} s`;
  const whole = Math.round(seconds);
  const hours = Math.floor(whole / 3600);
  const minutes = Math.floor((whole % 3600) / 60);
  const parts =
    hours > 0 ? [`${hours} h`, minutes && `${minutes} min`] : [`${minutes} min`, whole % 60 && `${whole % 60} s`];
  return parts.filter(Boolean).join(' ');
}

/** A number with its noun: `1 row`, `1,240 rows`. */
export function manyText(count: number, noun: string): string {
  return `${count.toLocaleString('en-US')} ${noun}${count === 1 ? '' : 's'}`;
}

/** Text of the CRM, for a terminal: short, and without control characters. */
export function plain(text: string): string {
  return text.replace(/[^\x20-\x7e]/g, '').slice(0, 200);
}

/** A number of bytes for a person; empty where there is none yet. */
export function bytesText(bytes: number | null): string {
  if (bytes === null) return '';
  if (bytes < 10_000) return `${bytes} B`;
  const units = ['kB', 'MB', 'GB', 'TB'];
  const power = Math.min(units.length, Math.floor(Math.log10(bytes) / 3));
  return `${(bytes / 1000 ** power).toFixed(1)} ${units[power - 1]}`;
}

/** How far a file is: `41.9 MB of 96.0 MB`, or only the first where the rest is not known, or nothing is missing. */
export function movedText({ bytes, totalBytes }: { bytes: number | null; totalBytes: number | null }): string {
  const whole = bytes === null || totalBytes === null || bytes >= totalBytes;
  return whole ? bytesText(bytes) : `${bytesText(bytes)} of ${bytesText(totalBytes)}`;
}
