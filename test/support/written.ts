import { vi } from 'vitest';

/** What was written to standard output and standard error meanwhile, and its lines that are JSON; with other variables set. */
export async function written(act: () => unknown, env: Record<string, string> = {}) {
  let text = '';
  const keep = (chunk: unknown) => {
    text += String(chunk);
    return true;
  };
  const spies = [process.stdout, process.stderr].map((stream) => vi.spyOn(stream, 'write').mockImplementation(keep));
  for (const [name, value] of Object.entries(env)) vi.stubEnv(name, value);
  try {
    await act();
  } finally {
    for (const spy of spies) spy.mockRestore();
    vi.unstubAllEnvs();
  }
  return { text, lines: jsonLines(text) };
}

/** The lines of a log that are JSON: Lambda adds others of its own. */
export function jsonLines(text: string): Record<string, unknown>[] {
  return text
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line));
}
