import { existsSync, readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { readAnswers } from '../../scripts/scan/answers.ts';

const document = readFileSync('docs/security.md', 'utf8');
const proofs = [...document.matchAll(/`(test\/[\w./-]+\.ts)`:\s+"([^"]+)"/g)].map(([, file = '', name = '']) => {
  return { file, name };
});

/** The rows of the tables of a chapter, by their cells. */
function rowsOf(heading: string): string[][] {
  const chapter = document.split(`\n## ${heading}\n`)[1]?.split('\n## ')[0] ?? '';
  const lines = chapter.split('\n').filter((line) => line.startsWith('| ') && !line.startsWith('| ---'));
  return lines.filter((line) => !/^\| (Entry point|Somebody) /.test(line)).map((line) => line.split(' | '));
}

/** Tells whether a test has this as its whole title. */
function exists({ file, name }: { file: string; name: string }): boolean {
  const text = existsSync(file) ? readFileSync(file, 'utf8').replaceAll(/\(\s+/g, '(') : '';
  return ["'", '"'].some((quote) => text.includes(`(${quote}${name}${quote}`));
}

describe('docs/security.md', () => {
  test('names only tests that exist', () => {
    expect(proofs.length).toBeGreaterThan(30);
    expect(proofs.filter((proof) => !exists(proof))).toEqual([]);
  });

  test.each(['Threats', 'Abuse cases'])(
    'proves each row of its chapter %s by a test, or says that nothing is done',
    (heading) => {
      const rows = rowsOf(heading);

      expect(rows.length).toBeGreaterThan(5);
      const unproven = rows.filter((cells) => !cells.some((cell) => /`test\/[\w./-]+\.ts`: "|^Nothing: /.test(cell)));
      expect(unproven).toEqual([]);
    },
  );

  test('names files of the project that exist', () => {
    const files = [...document.matchAll(/`((?:test|lib|scripts|local|scan|docs)\/[\w./-]+\.\w+)`/g)].map(
      ([, file]) => file ?? '',
    );

    expect(files.filter((file) => !existsSync(file))).toEqual([]);
  });

  test('answers findings of scanners, each once, with a reason and a page', () => {
    const answers = readAnswers();

    expect(answers.length).toBeGreaterThan(0);
    expect(new Set(answers.map(({ check, resource }) => `${check} ${resource}`)).size).toBe(answers.length);
    for (const { reason, link } of answers) {
      expect(reason.length).toBeGreaterThan(20);
      expect(link).toMatch(/^\[[\w-]+\]\(https:\/\/[^)]+\)$/);
    }
  });
});
