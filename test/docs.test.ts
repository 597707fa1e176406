import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { deploymentSchema } from '../lambdas/shared/deployment.ts';
import { ERRORS } from '../lambdas/shared/errors.ts';

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

describe('links between the documents', () => {
  it.each(globSync(['*.md', 'docs/**/*.md', 'sandbox/*.md']))('all lead somewhere from %s', (file) => {
    const targets = [...readFileSync(file, 'utf8').matchAll(/\]\((?!https?:)([^)#]+)(#[^)]*)?\)/g)].map(
      (match) => match[1] ?? '',
    );

    expect(targets.filter((target) => !existsSync(join(dirname(file), target)))).toEqual([]);
  });
});
