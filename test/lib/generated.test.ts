import { existsSync, readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import * as z from 'zod';
import { ERRORS } from '../../core/errors.ts';
import { STEPS } from '../../core/step/steps.ts';
import { feedDeployment } from '../../scripts/deployments.ts';
import { withAdvice } from '../../scripts/document-tables.ts';
import { difference, GENERATED, withSection } from '../../scripts/generate.ts';
import { stateDiagram } from '../../scripts/state-diagram.ts';
import { synthesise } from '../../scripts/synthesise.ts';
import { type Definition, definitionOf } from '../../scripts/template.ts';
import { exportRun, statesOfType } from './support/definition.ts';

describe('the committed files', () => {
  test.each(Object.entries(GENERATED))('%s is what npm run generate writes', async (file, text) => {
    expect(await difference(file, text)).toBeUndefined();
  });

  test('are told apart from what would be generated', async () => {
    expect(await difference('config/schema.json', () => '{}')).toBe(
      'config/schema.json differs from what is generated: npm run generate',
    );
    expect(await difference('docs/absent.json', () => '{}')).toBe('docs/absent.json is missing: npm run generate');
  });
});

describe('the schema for editors', () => {
  const read = (file: string) => JSON.parse(readFileSync(file, 'utf8'));
  const schema = z.fromJSONSchema(read('config/schema.json'));

  test.each(['config/example.json', 'config/local.json'])('accepts %s, which names it', (file) => {
    expect(read(file).$schema).toBe('./schema.json');
    expect(existsSync('config/schema.json')).toBe(true);
    expect(schema.safeParse(read(file)).error?.issues).toBeUndefined();
  });

  test.each([
    ['an unknown key', { retention: 3 }],
    ['an unknown entity', { entities: { lead: {} } }],
    ['a start that is no time', { nightly: { at: '25:00' } }],
  ])('marks %s', (_, change) => {
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

  test('folds the choices away and draws every other state', () => {
    const drawn = new Set(arrows.flatMap((arrow) => arrow.replace(/: .*/, '').split(' --> ')));

    const choices = statesOfType(definition, 'Choice');
    for (const choice of choices) expect(drawn).not.toContain(choice);
    for (const id of Object.keys(definition.States)) if (!choices.includes(id)) expect(drawn).toContain(id);
  });

  test('draws once what is the same for all steps', () => {
    expect(arrows.slice(-2).sort()).toEqual([
      'AnyStep --> RecordNight: any other answer',
      'AnyStep --> RecordNight: its function stopped without an answer',
    ]);
  });

  test('draws the crash of each step by itself where they differ', () => {
    const caught = (Next: string) => [{ ErrorEquals: ['States.ALL'], ResultPath: '$.crash', Next }];
    const small: Definition = {
      StartAt: 'One',
      States: {
        One: { Type: 'Task', Next: 'Two', Catch: caught('Crashed') },
        Two: { Type: 'Task', Next: 'Done', Catch: caught('Lost') },
        Done: { Type: 'Succeed' },
        Crashed: { Type: 'Fail' },
        Lost: { Type: 'Fail' },
      },
    };

    expect(
      stateDiagram(small)
        .split('\n')
        .map((line) => line.trim()),
    ).toEqual([
      '```mermaid',
      'stateDiagram-v2',
      '[*] --> One',
      'One --> Two',
      'One --> Crashed: its function stopped without an answer',
      'Two --> Done',
      'Two --> Lost: its function stopped without an answer',
      'Done --> [*]',
      '```',
    ]);
  });

  test('names a state that is led to and does not exist', () => {
    expect(() => stateDiagram({ StartAt: 'One', States: {} })).toThrow('no state "One"');
  });
});

describe('a generated section', () => {
  test('is between its two markers, and the rest is left alone', () => {
    const document = 'Before\n<!-- one:begin -->\nold\n<!-- one:end -->\nAfter\n';

    const written = withSection('README.md', document, 'one', 'new');

    expect(written).toBe('Before\n<!-- one:begin -->\n\nnew\n\n<!-- one:end -->\nAfter\n');
    expect(withSection('README.md', written, 'one', 'new')).toBe(written);
    expect(() => withSection('README.md', 'No markers', 'one', 'new')).toThrow('README.md lacks');
  });

  test('of the runbook is the advice of an error, at the start of its part "Fix"', () => {
    const runbook = '## Errors\n### ExportFailed\n\n**Fix.** old\n\nMore.\n### NoError\n\n**Fix.** Mine.\n';

    expect(withAdvice(runbook)).toBe(runbook.replace('old', ERRORS.ExportFailed.advice));
    expect(() => withAdvice('### ExportFailed\n\nNothing.\n')).toThrow('ExportFailed has no part "Fix"');
  });
});
