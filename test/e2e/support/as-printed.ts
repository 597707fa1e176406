/** Texts of this run, and what stands for them in a document. */
export type Known = [text: string, printed: string][];

const DAY_MS = 24 * 60 * 60_000;
/** What today, yesterday and tomorrow are called. */
const DAYS = { '2026-11-22': -1, '2026-11-23': 0, '2026-11-24': 1 };

/** What a command printed, without what is another at each run: names, times, addresses, sizes of what is made up. */
export function asPrinted(text: string, known: Known): string {
  const days = Object.entries(DAYS).map(([printed, days]): [string, string] => [dayFromNow(days), printed]);
  const replaced = [...known, ...days].reduce((so, [from, to]) => so.replaceAll(from, to), text);
  return replaced
    .replaceAll(/ --(endpoint-url|region) \S+/g, '')
    .replaceAll(/\d{8}T\d{6}Z-[0-9a-f]{6}/g, '20261123T090000Z-3f9c1a')
    .replaceAll(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, '6b1f3c52-0a5e-4d0e-9c34-1f2a7c9d8e10')
    .replaceAll(/(\d{4}-\d\d-\d\d)[T ]\d\d:\d\d(:\d\d(\.\d+)?)?/g, '$1T09:00:00')
    .replaceAll(/\b\d+(\.\d+)? (s|ms|min|seconds?|minutes?|hours?)\b/g, '1 $2')
    .trimEnd();
}

function dayFromNow(days: number): string {
  return new Date(Date.now() + days * DAY_MS).toISOString().slice(0, 10);
}
