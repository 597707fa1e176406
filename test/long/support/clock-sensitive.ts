import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/**
 * Code that makes a date from the clock, sets a clock for a test, or runs a command line, which reads one. `Date.now()`
 * alone measures durations.
 */
const TOUCHES_CLOCK = /new Date\(\)|new Date\(Date\.now|offsetsNow\(|useFakeTimers|clockAt\(|\b(?:run|start)Cli\(/;

/** The files of the unit project that touch the clock themselves, or import a file that does. */
export function clockSensitiveTests(root: string): string[] {
  const texts = new Map<string, string>();
  const textOf = (file: string): string => {
    // Texts in tests may look like imports.
    const text = texts.get(file) ?? (existsSync(join(root, file)) ? readFileSync(join(root, file), 'utf8') : '');
    texts.set(file, text);
    return text;
  };
  const tests = globSync('test/**/*.test.ts', { cwd: root, exclude: ['test/e2e/**', 'test/long/**'] });
  return tests
    .filter((file) => [file, ...importsOf(file, textOf(file))].some((each) => TOUCHES_CLOCK.test(textOf(each))))
    .sort();
}

function importsOf(file: string, text: string): string[] {
  const specifiers = [...text.matchAll(/\b(?:from|import)\s*\(?\s*'(\.[^']*\.ts)'/g)].map((match) => match[1] ?? '');
  return specifiers.map((specifier) => join(dirname(file), specifier));
}
