import { vi } from 'vitest';

/**
 * The text written to standard output and standard error during `act`, and its JSON lines. `env` sets other variables.
 */
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

/** The JSON lines of a log: Lambda adds other lines. */
export function jsonLines(text: string): Record<string, unknown>[] {
  return text
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line));
}
