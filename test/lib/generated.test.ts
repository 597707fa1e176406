import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import * as z from 'zod';
import { withAdvice } from '../../scripts/document-tables.ts';
import { GENERATED, withSection } from '../../scripts/generate.ts';

describe('the committed files', () => {
  test.each(Object.entries(GENERATED))('%s is what npm run generate writes', async (file, text) => {
    const committed = readFileSync(file, 'utf8');
    // The linter checks the format of JSON.
    const found = file.endsWith('.json') ? JSON.stringify(JSON.parse(committed), undefined, 2) : committed;
    expect(found).toBe(await text());
  });

  test('need the markers of each section, and the parts of each entry of the runbook', () => {
    expect(() => withSection('docs/a.md', '<!-- b:end --><!-- b:begin -->', 'b', '')).toThrow('docs/a.md lacks');
    expect(() => withAdvice('### StorageDenied\n\n**Look.** x\n')).toThrow('"Fix"');
  });
});

describe('the schema for editors', () => {
  const read = (file: string) => JSON.parse(readFileSync(file, 'utf8'));
  const schema = z.fromJSONSchema(read('config/schema.json'));

  test.each(['config/example.json', 'config/local.json'])('accepts %s, which refers to it', (file) => {
    expect(read(file).$schema).toBe('./schema.json');
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
