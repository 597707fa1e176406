import { spawnSync } from 'node:child_process';
import { cpSync, realpathSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, test } from 'vitest';
import { tree } from '../lib/support/files.ts';

const lines = (count: number) => `${'// A line.\n'.repeat(count - 1)}export {};\n`;
const functionOf = (count: number) =>
  `export function long(): void {\n${'  work();\n'.repeat(count)}}\n\nfunction work() {}\n`;
const listOf = (columns: number) => `export const list = ['${'a'.repeat(40)}', '${'b'.repeat(columns - 69)}'];\n`;
const importing = (specifier: string) => `import { a } from '${specifier}';\n\nexport const b = a;\n`;
const [FILE, FUNCTION, ARROW, CYCLE] = [
  'lint/style/noExcessiveLinesPerFile',
  'lint/complexity/noExcessiveLinesPerFunction',
  'lint/style/noRestrictedImports',
  'lint/suspicious/noImportCycles',
];

/** A small project: the text of each file, and what lint reports for it. This project shows what lint allows. */
const FILES: [file: string, text: string, violation: string][] = [
  ['core/file-401.ts', lines(401), FILE],
  ['test/file-601.ts', lines(601), FILE],
  ['core/function-61.ts', functionOf(61), FUNCTION],
  ['core/columns-121.ts', listOf(121), 'format'],
  ['core/cycle.ts', "import type { B } from './other.ts';\n\nexport type A = B | string;\n", CYCLE],
  ['core/other.ts', "import type { A } from './cycle.ts';\n\nexport type B = A | number;\n", CYCLE],
  ['bin/to-cli.ts', importing('../cli/main.ts'), ARROW],
  ['lib/to-cli.ts', importing('../cli/main.ts'), ARROW],
  ['lib/to-a-step.ts', importing('../lambdas/check-status/check-status.ts'), ARROW],
  ['core/to-lib.ts', importing('../lib/export-stack.ts'), ARROW],
  ['core/batch/to-a-step.ts', importing('../../lambdas/check-status/check-status.ts'), ARROW],
  ['core/to-zod.ts', importing('zod'), ARROW],
  ['transfer/to-core.ts', importing('../core/errors.ts'), ARROW],
  ['cli/to-local.ts', importing('../local/start.ts'), ARROW],
  ['cli/runs/to-a-step.ts', importing('../../lambdas/check-status/check-status.ts'), ARROW],
  ['lambdas/check-status/to-lib.ts', importing('../../lib/export-stack.ts'), ARROW],
  ['lambdas/check-status/to-a-step.ts', importing('../create-export/create-export.ts'), ARROW],
  ['lambdas/check-status/to-zod.ts', importing('zod'), ARROW],
  ['lambdas/validate-batch/to-a-step.ts', importing('../apply-chunk/apply-chunk.ts'), ARROW],
  ['local/type-of-test.ts', "export type { A } from '../test/support/a.ts';\n", ARROW],
  ['sandbox/later-to-test.ts', "export const b = await import('../test/support/a.ts');\n", ARROW],
  ['bench/to-test.ts', importing('../test/support/a.ts'), ARROW],
  ['scripts/to-test.ts', importing('../test/support/a.ts'), ARROW],
];

test('lint reports exactly the planted violations of the rules for sizes and imports', () => {
  const root = realpathSync(tree(Object.fromEntries(FILES)));
  cpSync('biome.json', join(root, 'biome.json'));

  const biome = resolve('node_modules/@biomejs/biome/bin/biome');
  const { stdout } = spawnSync(process.execPath, [biome, 'ci', '--reporter=github', '--max-diagnostics=none', '.'], {
    cwd: root,
    encoding: 'utf8',
  });

  const reported = [...stdout.matchAll(/^::\w+ title=([^,]+),file=([^,]+),/gm)].map(([, rule, file = '']) => [
    file.replace(`${root}/`, ''),
    rule,
  ]);
  const planted = FILES.map(([file, , violation]) => [file, violation]);
  expect(reported.sort()).toEqual(planted.sort());
});
