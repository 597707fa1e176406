import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, sep } from 'node:path';
import { ALL_STEPS, type AnyStepName, UPDATE_STEPS } from '../lambdas/shared/steps.ts';

/**
 * Sizes, names and the direction of imports, as docs/adr asks for them; a part of `npm run lint`. Functions
 * are measured by Biome (`noExcessiveLinesPerFunction`).
 */

const SOURCES = ['bin', 'lib', 'lambdas', 'cli', 'sandbox', 'local', 'bench', 'scripts'];
const LARGEST_SOURCE = 250;
const LARGEST_TEST = 600;
const LARGEST_STACK = 80;

/** What is wrong with the tree, a line for each; empty when all holds. */
export function findProblems(root: string): string[] {
  const files = [...SOURCES, 'test'].flatMap((folder) => typeScriptFiles(root, folder));
  const texts = new Map(files.map((file) => [file, readFileSync(join(root, file), 'utf8')]));
  return [
    ...[...texts].flatMap(([file, text]) => [...sizeProblems(file, text), ...importProblems(file, text)]),
    ...nameProblems(root, texts),
  ];
}

function typeScriptFiles(root: string, folder: string): string[] {
  if (!existsSync(join(root, folder))) return [];
  return readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts') && !file.split(sep).includes('node_modules'))
    .map((file) => join(folder, file))
    .sort();
}

function sizeProblems(file: string, text: string): string[] {
  const lines = text.split('\n').length - (text.endsWith('\n') ? 1 : 0);
  const most =
    file === 'lib/export-stack.ts' ? LARGEST_STACK : file.startsWith('test/') ? LARGEST_TEST : LARGEST_SOURCE;
  return lines > most ? [`${file}: has ${lines} lines, at most ${most} are allowed`] : [];
}

/** Which folders the files of a folder may import from, themselves aside. What is not listed may import anything but tests. */
const MAY_IMPORT: [importer: RegExp, imported: RegExp, rule: string][] = [
  [/^bin\//, /^(bin|lib)\//, 'bin imports lib only'],
  [/^lib\//, /^(lib|lambdas\/shared)\//, 'lib imports lambdas/shared only'],
  [/^lambdas\/shared\//, /^lambdas\/shared\//, 'lambdas/shared imports nothing else of the project'],
  [/^(cli|sandbox|local|bench|scripts)\//, /^(?!test\/)/, 'no source imports tests'],
];

function importProblems(file: string, text: string): string[] {
  return importsOf(file, text).flatMap((imported) => {
    const step = /^lambdas\/[^/]+\//.exec(file)?.[0];
    if (step && step !== 'lambdas/shared/') {
      const allowed = imported.startsWith(step) || imported.startsWith('lambdas/shared/');
      return allowed ? [] : [`${file}: imports ${imported}, but a step imports its own folder and lambdas/shared only`];
    }
    const broken = MAY_IMPORT.filter(([importer, allowed]) => importer.test(file) && !allowed.test(imported));
    return broken.map(([, , rule]) => `${file}: imports ${imported}, but ${rule}`);
  });
}

/** Files of the project that a file imports, from the root of the project. */
function importsOf(file: string, text: string): string[] {
  const specifiers = [...text.matchAll(/\b(?:from|import)\s*\(?\s*'(\.[^']*)'/g)].map((match) => match[1] ?? '');
  return specifiers.map((specifier) => relative('.', join(dirname(file), specifier)));
}

/** Folder, files, function, state, construct and test of a step carry one name. */
function nameProblems(root: string, texts: Map<string, string>): string[] {
  const steps = Object.keys(ALL_STEPS) as AnyStepName[];
  const folders = steps.map(folderOf);
  const strangers = existsSync(join(root, 'lambdas'))
    ? readdirSync(join(root, 'lambdas')).filter((name) => name !== 'shared' && !folders.includes(name))
    : [];
  return [
    ...strangers.map((name) => `lambdas/${name}: is the folder of no step in lambdas/shared/steps.ts`),
    ...steps.flatMap((step) =>
      expectations(step).flatMap(([file, pattern, what]) => missing(texts, file, pattern, what)),
    ),
  ];
}

function expectations(step: AnyStepName): [file: string, pattern: RegExp, what: string][] {
  const folder = folderOf(step);
  const name = step.charAt(0).toLowerCase() + step.slice(1);
  const updates = step in UPDATE_STEPS;
  const wrapper = updates ? 'asBatchStep' : 'asStep';
  return [
    [`lambdas/${folder}/${folder}.ts`, new RegExp(`export async function ${name}\\(`), `exports no function ${name}`],
    [
      `lambdas/${folder}/handler.ts`,
      new RegExp(`export const handler = ${wrapper}\\(\\s*'${step}',\\s*${name},`),
      `exports no handler made by ${wrapper}('${step}', ${name}, …)`,
    ],
    [
      updates ? 'lib/customer-updates.ts' : 'lib/export-steps.ts',
      new RegExp(`\\bstep\\(\\s*'${step}',`),
      `makes no function with the construct id ${step}`,
    ],
    [
      updates ? 'lib/customer-update-workflow.ts' : 'lib/export-workflow.ts',
      new RegExp(`stepTask\\(\\s*this,\\s*'${step}',`),
      `has no state ${step}`,
    ],
    [`test/lambdas/${folder}/${folder}.test.ts`, /\btest\(|\bit\(/, 'has no test'],
  ];
}

function missing(texts: Map<string, string>, file: string, pattern: RegExp, what: string): string[] {
  const text = texts.get(file);
  if (text === undefined) return [`${file}: is missing`];
  return pattern.test(text) ? [] : [`${file}: ${what}`];
}

function folderOf(step: string): string {
  return step.replace(/(?<!^)[A-Z]/g, '-$&').toLowerCase();
}

if (import.meta.main) {
  for (const problem of findProblems('.')) {
    process.stderr.write(`${problem}\n`);
    process.exitCode = 1;
  }
}
