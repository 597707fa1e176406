import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { Command } from 'commander';
import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { createProgram } from '../cli/program.ts';
import { deploymentSchema } from '../core/config/deployment.ts';
import { ERRORS } from '../core/errors.ts';
import { ALARMS } from '../lib/monitoring/alarms.ts';
import { allCommands, runbookEntries } from './support/runbook.ts';

const readme = readFileSync('README.md', 'utf8');

/** The first cells, in backticks, of the rows of a table under a heading. */
function firstCells(heading: string): string[] {
  const section = readme.split(`\n## ${heading}\n`)[1]?.split('\n## ')[0] ?? '';
  return [...section.matchAll(/^\| `([^`]+)` \|/gm)].map((match) => match[1] ?? '');
}

/** Paths of all fields of a JSON schema, objects opened, with `ENTITY` for the names of entities. */
function fieldsOf(schema: z.core.JSONSchema.BaseSchema, path = ''): string[] {
  return Object.entries(schema.properties ?? {}).flatMap(([key, value]) => {
    if (typeof value !== 'object') return [];
    const here = path ? `${path}.${key}` : key;
    const inner = value.type === 'object' && value.properties ? fieldsOf(value, here) : [];
    return inner.length > 0 && !here.endsWith('.polling') ? inner : [here];
  });
}

describe('README.md', () => {
  it('has an entry for every error name, and none for a name that does not exist', () => {
    expect(firstCells('When a run fails').toSorted()).toEqual(Object.keys(ERRORS).toSorted());
  });

  it('has a row for every field of the configuration, and none for a field that does not exist', () => {
    const schema = z.toJSONSchema(deploymentSchema, { io: 'input' });
    const perEntity = z.toJSONSchema(deploymentSchema.in.shape.entities, { io: 'input' });
    const plan = typeof perEntity.additionalProperties === 'object' ? perEntity.additionalProperties : {};
    const fields = fieldsOf(schema).filter((field) => field !== '$schema' && field !== 'entities');

    expect(firstCells('Configuration').toSorted()).toEqual(
      [...fields, ...fieldsOf(plan, 'entities.ENTITY')].toSorted(),
    );
  });
});

describe('docs/runbook.md', () => {
  const entries = runbookEntries();
  const commands = allCommands(readFileSync('docs/runbook.md', 'utf8'));

  it('has one entry for every alarm and every error name, and none for anything else', () => {
    const names = new Set([...Object.keys(ALARMS), ...Object.keys(ERRORS)]);
    expect(entries.map(({ id }) => id).toSorted()).toEqual([...names].toSorted());
  });

  it.each(entries.map(({ id, text, commands }) => ({ id, text, commands })))(
    'says in $id what it means, how to look by a command, and how to mend',
    ({ text, commands }) => {
      expect(text).toContain('**Means.**');
      expect(text).toContain('**Mend.**');
      expect(commands.filter(({ label }) => label === 'Look')).not.toEqual([]);
    },
  );

  it.each([...new Set(commands)].filter((command) => command.startsWith('npm ')))(
    'tells nobody to type what the command does not know: %s',
    async (line) => {
      const args = line.replace('DATE', '2026-11-20').replace('ENTITY', 'leads').split(' ').slice(4);
      const program = await createProgram();
      const command = program.commands.find((each) => each.name() === args[0]) ?? new Command();
      let parsed = false;
      command.action(() => {
        parsed = true;
      });

      await program.parseAsync(args, { from: 'user' });

      expect(parsed).toBe(true);
    },
  );
});

describe('links between the documents', () => {
  it.each(globSync(['*.md', 'docs/**/*.md', 'sandbox/*.md']))('all lead somewhere from %s', (file) => {
    const targets = [...readFileSync(file, 'utf8').matchAll(/\]\((?!https?:)([^)#]+)(#[^)]*)?\)/g)].map(
      (match) => match[1] ?? '',
    );

    expect(targets.filter((target) => !existsSync(join(dirname(file), target)))).toEqual([]);
  });
});
