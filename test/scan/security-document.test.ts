import { existsSync, readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';

const document = readFileSync('docs/security.md', 'utf8');

/** The rows of the tables of a chapter, by their cells. */
function rowsOf(heading: string): string[][] {
  const chapter = document.split(`\n## ${heading}\n`)[1]?.split('\n## ')[0] ?? '';
  const lines = chapter.split('\n').filter((line) => line.startsWith('| ') && !line.startsWith('| ---'));
  return lines.filter((line) => !line.startsWith('| Threat ')).map((line) => line.split(' | '));
}

describe('docs/security.md', () => {
  test('names a test for each threat', () => {
    const rows = rowsOf('Threats');

    expect(rows.length).toBeGreaterThan(30);
    expect(rows.filter(([, protection = '']) => !/`test\/[\w./-]+\.test\.ts`/.test(protection))).toEqual([]);
  });

  test('names only files that exist', () => {
    const files = [...document.matchAll(/`((?:test|lib|scripts|local|scan|docs)\/[\w./-]+\.\w+)`/g)].map(
      ([, file]) => file ?? '',
    );

    expect(files.filter((file) => !existsSync(file))).toEqual([]);
  });
});
