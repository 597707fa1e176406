import { existsSync, readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import * as z from 'zod';
import { STEPS } from '../../core/step/steps.ts';
import { feedDeployment } from '../../scripts/deployments.ts';
import { withAdvice } from '../../scripts/document-tables.ts';
import { GENERATED, withSection } from '../../scripts/generate.ts';
import { stateDiagram } from '../../scripts/state-diagram.ts';
import { synthesise } from '../../scripts/synthesise.ts';
import { definitionOf } from '../../scripts/template.ts';
import { exportRun, statesOfType } from './support/definition.ts';

describe('the committed files', () => {
  test.each(Object.entries(GENERATED))('%s is what npm run generate writes', async (file, text) => {
    const committed = readFileSync(file, 'utf8');
    // The linter checks the format of JSON.
    const found = file.endsWith('.json') ? JSON.stringify(JSON.parse(committed), undefined, 2) : committed;
    expect(found).toBe(await text());
  });

  test('need the markers of each section, and the parts of each entry of the runbook', () => {
    expect(() => withSection('docs/a.md', '<!-- b:end --><!-- b:begin -->', 'b', '')).toThrow('docs/a.md lacks');
    expect(() => withAdvice('### StorageDenied\n\n**Look.** x\n')).toThrow('has no part "Fix"');
  });
});

describe('the schema for editors', () => {
  const read = (file: string) => JSON.parse(readFileSync(file, 'utf8'));
  const schema = z.fromJSONSchema(read('config/schema.json'));

  test.each(['config/example.json', 'config/local.json'])('accepts %s, which refers to it', (file) => {
    expect(read(file).$schema).toBe('./schema.json');
    expect(existsSync('config/schema.json')).toBe(true);
    expect(schema.safeParse(read(file)).error?.issues).toBeUndefined();
  });

  test.each([
    ['an unknown key', { retention: 3 }],
    ['an unknown entity', { entities: { lead: {} } }],
    ['an invalid start time', { nightly: { at: '25:00' } }],
  ])('refuses %s', (_, change) => {
    expect(schema.safeParse({ ...read('config/example.json'), ...change }).success).toBe(false);
  });
});

describe('the state diagram', () => {
  const definition = exportRun();
  const arrows = stateDiagram(definition)
    .split('\n')
    .filter((line) => line.includes('-->'))
    .map((line) => line.trim());

  test('draws every outcome of every step as one labelled arrow', () => {
    const withTables = stateDiagram(definitionOf(synthesise(feedDeployment()))).split('\n');
    for (const [step, { outcomes }] of Object.entries(STEPS)) {
      const drawn = step === 'WriteTable' || step === 'WriteChanges' ? withTables.map((line) => line.trim()) : arrows;
      const labels = drawn.filter((arrow) => arrow.startsWith(`${step} -->`)).map((arrow) => arrow.split(': ')[1]);
      expect(labels.sort(), step).toEqual([...outcomes].sort());
    }
  });

  test('draws every state except the choices', () => {
    const drawn = new Set(arrows.flatMap((arrow) => arrow.replace(/: .*/, '').split(' --> ')));

    const choices = statesOfType(definition, 'Choice');
    for (const choice of choices) expect(drawn).not.toContain(choice);
    for (const id of Object.keys(definition.States)) if (!choices.includes(id)) expect(drawn).toContain(id);
  });
});
