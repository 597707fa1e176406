/** Texts of this run, and what stands for them in a document. */
export type Known = [text: string, printed: string][];

/** What a command printed, without what is another at each run: names, times, addresses, sizes of what is made up. */
export function asPrinted(text: string, known: Known): string {
  const replaced = known.reduce((so, [from, to]) => so.replaceAll(from, to), text);
  return replaced
    .replaceAll(/ --(endpoint-url|region) \S+/g, '')
    .replaceAll(/\d{8}T\d{6}Z-[0-9a-f]{6}/g, '20261123T090000Z-3f9c1a')
    .replaceAll(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, '6b1f3c52-0a5e-4d0e-9c34-1f2a7c9d8e10')
    .replaceAll(/\d{4}-\d\d-\d\d/g, '2026-11-23')
    .replaceAll(/(\d[T ])\d\d:\d\d(:\d\d)?(\.\d+)?/g, (_, day, seconds) => `${day}09:00${seconds ? ':00' : ''}`)
    .replaceAll(/^(Next start: ).*/gm, '$12026-11-24 01:00 UTC, leads of 2026-11-24')
    .replaceAll(/(\(|after )\d+(\.\d+)? (s|ms)\b/g, '$11 $3')
    .replaceAll(/(address says that it lives )\d+ s/g, '$1300 s')
    .replaceAll(/127\.0\.0\.1(:|%3A)\d+/g, '127.0.0.1$18400')
    .replaceAll(/ -L \d+:/g, ' -L 8400:')
    .replaceAll(/(state|code_challenge)=[\w-]+/g, '$1=…')
    .replaceAll(/AWS_ENDPOINT_URL=\S+ | -c configuration=\S+|^It is for the local cloud at .*\n/gm, '')
    .replaceAll(/^ {2}\w+: (Create|Check|Download|Publish|Record|Wait)\w*, .*\n/gm, '')
    .replaceAll(/-[0-9A-F]{13}\b/g, '-1A2B3C4D5E6F7')
    .trimEnd();
}
