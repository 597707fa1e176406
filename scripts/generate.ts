import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import * as z from 'zod';
import { changesSchema } from '../cli/changes/changes.ts';
import { checksSchema } from '../cli/health/check.ts';
import { probeReportSchema } from '../cli/health/probe.ts';
import { statusSchema } from '../cli/night/status-schema.ts';
import { runSchema } from '../cli/runs/run.ts';
import { batchManifestSchema, resultLineSchema } from '../core/batch/batch-results.ts';
import { deploymentSchema } from '../core/config/deployment.ts';
import { manifestSchema } from '../core/export/manifest.ts';
import { pointerSchema } from '../core/export/pointer.ts';
import { nightSchema } from '../core/night/marker.ts';
import { updateLineSchema } from '../core/updates/update-line.ts';
import { commandList, rightsList } from './command-tables.ts';
import { feedDeployment, updatingDeployment } from './deployments.ts';
import { checkTable, configurationTable, entityNames, entityStarts, withAdvice } from './document-tables.ts';
import { behindStep, stateDiagram } from './state-diagram.ts';
import { synthesise } from './synthesise.ts';
import { definitionOf } from './template.ts';

/**
 * Writes the generated files that are committed: the schemas, and the generated sections of documents (`npm run
 * generate`). With --check it writes nothing: it names every file that differs, and the exit code is 1.
 */

type Text = () => string | Promise<string>;

const exportDiagram = () => stateDiagram(definitionOf(synthesise()));
const tablesDiagram = () => stateDiagram(behindStep(definitionOf(synthesise(feedDeployment())), 'WriteTable'));
const updatesDiagram = () => stateDiagram(definitionOf(synthesise(updatingDeployment()), 'CustomerUpdates'));

/** The expected text of each generated file. */
export const GENERATED: Record<string, Text> = {
  // Editors support draft 7 best.
  'config/schema.json': () => schemaText('config/schema.json', deploymentSchema, 'draft-7'),
  'docs/schemas/manifest.json': () => schemaText('docs/schemas/manifest.json', manifestSchema),
  'docs/schemas/pointer.json': () => schemaText('docs/schemas/pointer.json', pointerSchema),
  'docs/schemas/night.json': () => schemaText('docs/schemas/night.json', nightSchema),
  'docs/schemas/changes.json': () => schemaText('docs/schemas/changes.json', changesSchema),
  'docs/schemas/checks.json': () => schemaText('docs/schemas/checks.json', checksSchema),
  'docs/schemas/probe.json': () => schemaText('docs/schemas/probe.json', probeReportSchema),
  'docs/schemas/run.json': () => schemaText('docs/schemas/run.json', runSchema),
  'docs/schemas/status.json': () => schemaText('docs/schemas/status.json', statusSchema),
  'docs/schemas/update-line.json': () => schemaText('docs/schemas/update-line.json', updateLineSchema),
  'docs/schemas/update-result-line.json': () => schemaText('docs/schemas/update-result-line.json', resultLineSchema),
  'docs/schemas/update-manifest.json': () => schemaText('docs/schemas/update-manifest.json', batchManifestSchema),
  'docs/design/export-run.md': () =>
    documentText('docs/design/export-run.md', { 'state-diagram': exportDiagram, 'tables-diagram': tablesDiagram }),
  'docs/design/customer-updates.md': () =>
    documentText('docs/design/customer-updates.md', { 'updates-diagram': updatesDiagram }),
  'README.md': () => documentText('README.md', { kinds: entityNames }),
  'docs/configuration.md': () =>
    documentText('docs/configuration.md', { configuration: configurationTable, entities: entityStarts }),
  'docs/reading.md': () => documentText('docs/reading.md', { checks: checkTable }),
  'docs/operating.md': () => documentText('docs/operating.md', { commands: commandList }),
  'docs/security.md': () => documentText('docs/security.md', { 'command-rights': rightsList }),
  'docs/runbook.md': () => withAdvice(readFileSync('docs/runbook.md', 'utf8')),
};

function schemaText(
  file: string,
  schema: z.core.$ZodType,
  target: 'draft-7' | 'draft-2020-12' = 'draft-2020-12',
): string {
  const text = JSON.stringify(z.toJSONSchema(schema, { io: 'input', target }), undefined, 2);
  const args = ['format', `--stdin-file-path=${file}`];
  return execFileSync('node_modules/.bin/biome', args, { input: text, encoding: 'utf8' });
}

/** The document with new content between the two markers of each section. */
async function documentText(file: string, sections: Record<string, Text>): Promise<string> {
  let text = existsSync(file) ? readFileSync(file, 'utf8') : '';
  for (const [name, section] of Object.entries(sections)) text = withSection(file, text, name, await section());
  return text;
}

/** @throws Error if the text has no such section */
export function withSection(file: string, text: string, name: string, section: string): string {
  const from = `<!-- ${name}:begin -->`;
  const to = `<!-- ${name}:end -->`;
  const begin = text.indexOf(from);
  const end = text.indexOf(to);
  if (begin < 0 || end < begin) throw new Error(`${file} lacks ${from} and ${to} around a generated section`);
  return `${text.slice(0, begin + from.length)}\n\n${section}\n\n${text.slice(end)}`;
}

/** Describes the difference to the committed file, or returns `undefined`. */
export async function difference(file: string, text: Text): Promise<string | undefined> {
  const wanted = await text();
  if (!existsSync(file)) return `${file} is missing: npm run generate`;
  return readFileSync(file, 'utf8') === wanted ? undefined : `${file} differs from what is generated: npm run generate`;
}

async function main(checkOnly: boolean): Promise<void> {
  for (const [file, text] of Object.entries(GENERATED)) {
    const problem = await (checkOnly ? difference(file, text) : write(file, text)).catch(messageOf);
    if (problem === undefined) continue;
    process.stderr.write(`${problem}\n`);
    process.exitCode = 1;
  }
}

async function write(file: string, text: Text): Promise<undefined> {
  const wanted = await text();
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, wanted);
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

if (import.meta.main) await main(process.argv.includes('--check'));
