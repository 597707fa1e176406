import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import * as z from 'zod';
import { batchManifestSchema } from '../core/batch/batch-manifest.ts';
import { chunkSchema } from '../core/batch/chunk-index.ts';
import { resultLineSchema } from '../core/batch/result-line.ts';
import { deploymentSchema } from '../core/config/deployment.ts';
import { manifestSchema } from '../core/export/manifest.ts';
import { pointerSchema } from '../core/export/pointer.ts';
import { customerFieldsSchema } from '../core/updates/customer-fields.ts';
import { updateLineSchema } from '../core/updates/update-line.ts';
import { type Definition, definitionOf, synthesise, updatingDeployment } from './definition.ts';
import { stateDiagram } from './state-diagram.ts';

/**
 * Writes what is generated and committed: the schemas, and the state diagram in README.md (`npm run generate`).
 * With --check nothing is written: every file that differs is named, and the exit code is 1.
 */

const BEGIN = '<!-- state-diagram:begin -->';
const END = '<!-- state-diagram:end -->';
const UPDATES_BEGIN = '<!-- updates-diagram:begin -->';
const UPDATES_END = '<!-- updates-diagram:end -->';

/** The text that each generated file has to have. */
export const GENERATED: Record<string, () => string> = {
  // Editors read draft 7 best.
  'config/schema.json': () => schemaText('config/schema.json', deploymentSchema, 'draft-7'),
  'docs/schemas/manifest.json': () => schemaText('docs/schemas/manifest.json', manifestSchema),
  'docs/schemas/pointer.json': () => schemaText('docs/schemas/pointer.json', pointerSchema),
  'docs/schemas/customer-update.json': () => schemaText('docs/schemas/customer-update.json', customerFieldsSchema),
  'docs/schemas/update-line.json': () => schemaText('docs/schemas/update-line.json', updateLineSchema),
  'docs/schemas/update-chunk.json': () => schemaText('docs/schemas/update-chunk.json', chunkSchema),
  'docs/schemas/update-result-line.json': () => schemaText('docs/schemas/update-result-line.json', resultLineSchema),
  'docs/schemas/update-manifest.json': () => schemaText('docs/schemas/update-manifest.json', batchManifestSchema),
  'README.md': () => withUpdatesDiagram(withDiagram(existsSync('README.md') ? readFileSync('README.md', 'utf8') : '')),
};

function schemaText(
  file: string,
  schema: z.core.$ZodType,
  target: 'draft-7' | 'draft-2020-12' = 'draft-2020-12',
): string {
  const text = JSON.stringify(z.toJSONSchema(schema, { io: 'input', target }), undefined, 2);
  return execFileSync('node_modules/.bin/biome', ['format', `--stdin-file-path=${file}`], {
    input: text,
    encoding: 'utf8',
  });
}

/** The README with the diagram between its two markers. */
export function withDiagram(readme: string): string {
  return withBetween(readme, BEGIN, END, () => definitionOf(synthesise()));
}

/** The same with that of the machine CustomerUpdates. */
function withUpdatesDiagram(readme: string): string {
  const definition = () => definitionOf(synthesise(updatingDeployment()), 'CustomerUpdates');
  return withBetween(readme, UPDATES_BEGIN, UPDATES_END, definition);
}

function withBetween(readme: string, from: string, to: string, definition: () => Definition): string {
  const [begin, end] = [readme.indexOf(from), readme.indexOf(to)];
  if (begin < 0 || end < begin) throw new Error(`README.md lacks ${from} and ${to}, which the diagram stands between`);
  return `${readme.slice(0, begin + from.length)}\n\n${stateDiagram(definition())}\n\n${readme.slice(end)}`;
}

/** What is wrong with the committed file, or `undefined`. */
export function difference(file: string, text: () => string): string | undefined {
  const wanted = text();
  if (!existsSync(file)) return `${file} is missing: npm run generate`;
  return readFileSync(file, 'utf8') === wanted ? undefined : `${file} differs from what is generated: npm run generate`;
}

function main(checkOnly: boolean): void {
  const problems = Object.entries(GENERATED).map(([file, text]) => {
    try {
      return checkOnly ? difference(file, text) : write(file, text());
    } catch (error) {
      return error instanceof Error ? error.message : String(error);
    }
  });
  for (const problem of problems.filter((line) => line !== undefined)) {
    process.stderr.write(`${problem}\n`);
    process.exitCode = 1;
  }
}

function write(file: string, text: string): undefined {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
}

if (import.meta.main) main(process.argv.includes('--check'));
