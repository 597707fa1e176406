import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import * as z from 'zod';
import { changesSchema } from '../cli/changes/changes.ts';
import { checksSchema } from '../cli/health/check.ts';
import { probeReportSchema } from '../cli/health/probe.ts';
import { statusSchema } from '../cli/night/night-status.ts';
import { runSchema } from '../cli/runs/run.ts';
import { batchManifestSchema, resultLineSchema } from '../core/batch/batch-results.ts';
import { deploymentSchema } from '../core/config/deployment.ts';
import { manifestSchema } from '../core/export/manifest.ts';
import { pointerSchema } from '../core/export/pointer.ts';
import { nightSchema } from '../core/night/night-record.ts';
import { updateLineSchema } from '../core/updates/update-line.ts';
import { commandList, rightsList } from './command-tables.ts';
import { feedDeployment, updatingDeployment } from './deployments.ts';
import { checkTable, configurationTable, entityNames, entityStarts, withAdvice } from './document-tables.ts';
import { stateDiagram } from './state-diagram.ts';
import { synthesise } from './synthesise.ts';
import { definitionOf } from './template.ts';

/** `npm run generate`: writes the generated files that are committed: the schemas, and sections of documents. */

type Text = () => string | Promise<string>;

const exportDiagram = () => stateDiagram(definitionOf(synthesise()));
const tablesDiagram = () => stateDiagram(definitionOf(synthesise(feedDeployment())), 'WriteTable');
const updatesDiagram = () => stateDiagram(definitionOf(synthesise(updatingDeployment()), 'CustomerUpdates'));

const SCHEMAS = {
  manifest: manifestSchema,
  pointer: pointerSchema,
  night: nightSchema,
  changes: changesSchema,
  checks: checksSchema,
  probe: probeReportSchema,
  run: runSchema,
  status: statusSchema,
  'update-line': updateLineSchema,
  'update-result-line': resultLineSchema,
  'update-manifest': batchManifestSchema,
};

/** The generated sections of each document. */
const SECTIONS: Record<string, Record<string, Text>> = {
  'docs/design/export-run.md': { 'state-diagram': exportDiagram, 'tables-diagram': tablesDiagram },
  'docs/design/customer-updates.md': { 'updates-diagram': updatesDiagram },
  'README.md': { kinds: entityNames },
  'docs/configuration.md': { configuration: configurationTable, entities: entityStarts },
  'docs/reading.md': { checks: checkTable },
  'docs/operating.md': { commands: commandList },
  'docs/security.md': { 'command-rights': rightsList },
};

/** The expected text of each generated file. */
export const GENERATED: Record<string, Text> = {
  // Editors support draft 7 best.
  'config/schema.json': () => schemaText(deploymentSchema, 'draft-7'),
  ...Object.fromEntries(
    Object.entries(SCHEMAS).map(([name, schema]) => [
      `docs/schemas/${name}.json`,
      () => schemaText(schema, 'draft-2020-12'),
    ]),
  ),
  ...Object.fromEntries(Object.entries(SECTIONS).map(([file, sections]) => [file, () => documentText(file, sections)])),
  'docs/runbook.md': () => withAdvice(readFileSync('docs/runbook.md', 'utf8')),
};

function schemaText(schema: z.core.$ZodType, target: 'draft-7' | 'draft-2020-12'): string {
  return JSON.stringify(z.toJSONSchema(schema, { io: 'input', target }), undefined, 2);
}

/** The document with new content between the two markers of each section. */
async function documentText(file: string, sections: Record<string, Text>): Promise<string> {
  let text = readFileSync(file, 'utf8');
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

if (import.meta.main) {
  for (const [file, text] of Object.entries(GENERATED)) writeFileSync(file, await text());
  execFileSync('node_modules/.bin/biome', [
    'format',
    '--write',
    ...Object.keys(GENERATED).filter((file) => file.endsWith('.json')),
  ]);
}
