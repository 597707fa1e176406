const OF_A_RUN = ['entity', 'execution', 'exportId', 'batch', 'chunk'] as const;
/**
 * `path`: as in the interface document, with `{id}` in place of ids. `latest`: `latest.json` names this run. `crash`,
 * `frames`: an error without its message. `cpuUsed`: the used share of the CPU. `boundBy`: `cpu` or `network`.
 */
const OTHERS = [
  ...['outcome', 'error', 'waitSeconds', 'requestId', 'crash', 'frames'],
  ...['method', 'path', 'status', 'code', 'milliseconds', 'crmRequests', 'fileRequests', 'storeRequests'],
  ...['key', 'bytes', 'totalBytes', 'rows', 'date', 'revision', 'missing', 'lines', 'warnings', 'latest'],
  ...['mebibytesPerSecond', 'cpuUsed', 'boundBy', 'memoryMB'],
] as const;
const LISTED: ReadonlySet<string> = new Set([...OF_A_RUN, ...OTHERS]);

/** Fields that every line of an invocation has. */
export type RunFields = { [F in (typeof OF_A_RUN)[number]]?: (F extends 'chunk' ? number : string) | undefined };

/** All fields of log lines. Other fields do not compile, so bodies, URLs and tokens cannot be logged. */
export type LogFields = RunFields & {
  [F in (typeof OTHERS)[number]]?:
    | (F extends 'frames' | 'missing' ? string[] : string | number | boolean | null)
    | undefined;
};

/** Whether a line may have this field. */
export function isListed(name: string): boolean {
  return LISTED.has(name);
}

const LONGEST_TEXT = 1000;

/** Removes fields that a cast or a library added. */
export function onlyListed(fields: object): Record<string, unknown> {
  const entries = Object.entries(fields).filter(([name]) => isListed(name));
  return Object.fromEntries(entries.map(([name, value]) => [name, loggable(value)]));
}

function loggable(value: unknown): unknown {
  if (typeof value === 'string') return shortText(value);
  if (typeof value === 'number' || typeof value === 'boolean') return value;
  return Array.isArray(value) ? value.filter((each) => typeof each === 'string').map(shortText) : undefined;
}

/** Limits the length of a text, and removes the query of every address, which may hold signatures and tokens. */
export function shortText(text: string): string {
  return text.replace(/\bhttps?:\/\/\S*/gi, (address) => address.replace(/[?#].*/, '')).slice(0, LONGEST_TEXT);
}
