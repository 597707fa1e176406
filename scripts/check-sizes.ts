import { existsSync, globSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, sep } from 'node:path';
import { ALL_FUNCTIONS, ALL_STEPS, type AnyStepName, folderOf, UPDATE_STEPS } from '../core/step/steps.ts';

/** Sizes, names and the direction of imports; a part of `npm run lint`. Biome measures functions. */

const SOURCES = ['bin', 'lib', 'lambdas', 'core', 'transfer', 'cli', 'sandbox', 'local', 'bench', 'scripts'];
const LARGEST_SOURCE = 250;
const LARGEST_TEST = 600;
const LARGEST_STACK = 80;

/** What is wrong with the tree, a line for each; empty when all holds. */
export function findProblems(root: string): string[] {
  const patterns = [...SOURCES, 'test'].map((folder) => `${folder}/**/*.{js,ts}`);
  const files = globSync(patterns, { cwd: root, exclude: ['**/node_modules/**'] }).sort();
  const texts = new Map(files.map((file) => [file, readFileSync(join(root, file), 'utf8')]));
  return [
    ...[...texts].flatMap(([file, text]) => [...sizeProblems(file, text), ...importProblems(file, text)]),
    ...folderProblems(texts),
    ...nameProblems(root, texts),
  ];
}

function sizeProblems(file: string, text: string): string[] {
  const lines = text.split('\n').length - (text.endsWith('\n') ? 1 : 0);
  const most =
    file === 'lib/export-stack.ts' ? LARGEST_STACK : file.startsWith('test/') ? LARGEST_TEST : LARGEST_SOURCE;
  return lines > most ? [`${file}: has ${lines} lines, at most ${most} are allowed`] : [];
}

/** Which folders the files of a folder may import from. What is not listed may import anything but tests. */
const MAY_IMPORT: [importer: RegExp, imported: RegExp, rule: string][] = [
  [/^bin\//, /^(bin|lib|core)\//, 'bin imports lib and core only'],
  [/^lib\//, /^(lib|core)\//, 'lib imports core only'],
  [/^core\//, /^(core|transfer)\//, 'core imports transfer only'],
  [/^transfer\//, /^transfer\//, 'transfer imports nothing else of the project'],
  [/^cli\//, /^(cli|core|transfer)\//, 'cli imports core and transfer only'],
  [/^(sandbox|local|bench|scripts)\//, /^(?!test\/)/, 'no source imports tests'],
];

function importProblems(file: string, text: string): string[] {
  return importsOf(file, text).flatMap((imported) => {
    const inner = innerOf(file, imported);
    if (inner) return [`${file}: imports ${imported}, but files outside of ${inner} import ${inner}/index.ts only`];
    const step = /^lambdas\/[^/]+\//.exec(file)?.[0];
    if (step) {
      const allowed = imported.startsWith(step) || /^(core|transfer)\//.test(imported);
      return allowed ? [] : [`${file}: imports ${imported}, but a step imports its own folder, core and transfer only`];
    }
    const broken = MAY_IMPORT.filter(([importer, allowed]) => importer.test(file) && !allowed.test(imported));
    return broken.map(([, , rule]) => `${file}: imports ${imported}, but ${rule}`);
  });
}

/** Folders of which only `index.ts` may be imported, except by tests and benchmarks. */
const CLOSED = ['transfer'];

function innerOf(file: string, imported: string): string | undefined {
  if (/^(test|bench)\//.test(file)) return undefined;
  return CLOSED.find(
    (folder) =>
      imported.startsWith(`${folder}/`) && !file.startsWith(`${folder}/`) && imported !== `${folder}/index.ts`,
  );
}

/** Files of the project that a file imports, from the root of the project. */
function importsOf(file: string, text: string): string[] {
  const specifiers = [...text.matchAll(/\b(?:from|import)\s*\(?\s*'(\.[^']*)'/g)].map((match) => match[1] ?? '');
  return specifiers.map((specifier) => relative('.', join(dirname(file), specifier)));
}

const MOST_FILES = 20;

/** A folder is a subject: it has few files, and no two folders import each other. A subfolder may take types from its parent. */
function folderProblems(texts: Map<string, string>): string[] {
  const sources = [...texts].filter(([file]) => !file.startsWith('test/'));
  const counts = Map.groupBy(sources, ([file]) => dirname(file));
  const crowded = [...counts].filter(([, files]) => files.length > MOST_FILES);
  const edges = sources.flatMap(([file, text]) => valueImportsOf(file, text).map((imported) => ({ file, imported })));
  const between = Map.groupBy(
    edges.filter(({ file, imported }) => dirname(file) !== dirname(imported)),
    ({ file, imported }) => foldersOf(file, imported).join(' '),
  );
  const mutual = [...between].flatMap(([pair, [one]]) => {
    const [other] = between.get(pair.split(' ').toReversed().join(' ')) ?? [];
    return one && other && pair < pair.split(' ').toReversed().join(' ') ? [{ one, other }] : [];
  });
  return [
    ...crowded.map(
      ([folder, { length }]) => `${folder}: has ${length} source files, at most ${MOST_FILES} are allowed`,
    ),
    ...mutual.map(
      ({ one, other }) =>
        `${one.file}: imports ${one.imported}, but ${other.file} imports ${other.imported}: no two folders import each other`,
    ),
  ];
}

/** The folders of two files, from the place where their paths part: a folder has those below it. */
function foldersOf(file: string, other: string): [string, string] {
  const one = dirname(file).split(sep);
  const two = dirname(other).split(sep);
  const parted = one.findIndex((name, depth) => name !== two[depth]);
  if (parted === -1 || parted >= two.length) return [dirname(file), dirname(other)];
  return [one.slice(0, parted + 1).join(sep), two.slice(0, parted + 1).join(sep)];
}

/** Imports of values, and of types from anywhere but a folder above. */
function valueImportsOf(file: string, text: string): string[] {
  const types = /\b(?:import|export)\s+type\b[^;]*?\bfrom\s+'(\.[^']*)'/g;
  const isAbove = (specifier: string) => dirname(file).startsWith(`${dirname(join(dirname(file), specifier))}/`);
  return importsOf(
    file,
    text.replace(types, (statement, specifier) => (isAbove(specifier) ? '' : statement)),
  );
}

/** Folder, files, function, state, construct and test of a step carry one name. */
function nameProblems(root: string, texts: Map<string, string>): string[] {
  const steps = Object.keys(ALL_STEPS) as AnyStepName[];
  const folders = ALL_FUNCTIONS.map(folderOf);
  const strangers = existsSync(join(root, 'lambdas'))
    ? readdirSync(join(root, 'lambdas')).filter((name) => !folders.includes(name))
    : [];
  return [
    ...strangers.map((name) => `lambdas/${name}: is the folder of no step in core/step/steps.ts`),
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
      updates ? 'lib/workflow/customer-updates.ts' : 'lib/workflow/export-steps.ts',
      new RegExp(`\\bstep\\(\\s*'${step}',`),
      `makes no function with the construct id ${step}`,
    ],
    [
      updates ? 'lib/workflow/customer-update-workflow.ts' : 'lib/workflow/export-workflow.ts',
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

if (import.meta.main) {
  for (const problem of findProblems('.')) {
    process.stderr.write(`${problem}\n`);
    process.exitCode = 1;
  }
}
