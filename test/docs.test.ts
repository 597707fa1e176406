import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import * as z from 'zod';
import { baseKey, feedKey, headKey, recordKey } from '../core/changes/feed-keys.ts';
import { deploymentSchema } from '../core/config/deployment.ts';
import { ERRORS } from '../core/errors.ts';
import { datePointerKey, latestPointerKey, manifestKeyOf } from '../core/export/pointer.ts';
import { completeKey, nightKey } from '../core/night/night-record.ts';
import { OTHER_ENDS } from '../lambdas/mail-failed-runs/mail-failed-runs.ts';
import { ALARMS } from '../lib/monitoring/monitoring.ts';
import { isAccepted } from './cli/support/is-accepted.ts';
import {
  documentedEventPattern,
  documentedFeedPattern,
  documentedNightPattern,
  matchesPattern,
} from './support/event-pattern.ts';
import { allCommands, runbookEntries } from './support/runbook.ts';

/** Paths of all fields of a JSON schema, objects opened, with `ENTITY` for the names of entities. */
function fieldsOf(schema: z.core.JSONSchema.BaseSchema, path = ''): string[] {
  return Object.entries(schema.properties ?? {}).flatMap(([key, value]) => {
    if (typeof value !== 'object') return [];
    const here = path ? `${path}.${key}` : key;
    const inner = value.type === 'object' && value.properties ? fieldsOf(value, here) : [];
    return inner.length > 0 && !here.endsWith('.polling') ? inner : [here];
  });
}

describe('docs/configuration.md', () => {
  const rows = [...readFileSync('docs/configuration.md', 'utf8').matchAll(/^\| `([^`]+)` \| .* \| (.*) \|$/gm)];

  it('has a row for every field of the configuration, and for no other field', () => {
    const schema = z.toJSONSchema(deploymentSchema, { io: 'input' });
    const perEntity = z.toJSONSchema(deploymentSchema.in.shape.entities, { io: 'input' });
    const plan = typeof perEntity.additionalProperties === 'object' ? perEntity.additionalProperties : {};
    const fields = fieldsOf(schema).filter((field) => field !== '$schema' && field !== 'entities');

    expect(rows.map(([, field]) => field).toSorted()).toEqual(
      [...fields, ...fieldsOf(plan, 'entities.ENTITY')].toSorted(),
    );
  });
});

describe('the event patterns of docs/reading.md', () => {
  const nights: unknown = JSON.parse(documentedNightPattern('exports'));
  const complete = completeKey({ date: '2026-11-20', revision: 12 });
  const event = (key: string, { bucket = 'exports' } = {}) => ({
    version: '0',
    'detail-type': 'Object Created',
    source: 'aws.s3',
    resources: [`arn:aws:s3:::${bucket}`],
    detail: { version: '0', bucket: { name: bucket }, object: { key, size: 5 }, reason: 'PutObject' },
  });

  it('for feeds match only the record of a feed', () => {
    const feeds: unknown = JSON.parse(documentedFeedPattern('exports'));
    const to = { date: '2026-11-20', run: 'leads/night=1' };
    const record = event(recordKey('leads', to));
    const keys = [
      feedKey('leads', to),
      headKey('leads'),
      baseKey('leads', to.run),
      'tables/entity=leads/date=2026-11-20/_feed.json',
    ];
    const others = [...keys.map((key) => event(key)), event(recordKey('leads', to), { bucket: 'others' })];

    expect(matchesPattern(feeds, record)).toBe(true);
    expect(others.filter((other) => matchesPattern(feeds, other))).toEqual([]);
  });

  it('for files match every pointer, and nothing else', () => {
    const pointers: unknown = JSON.parse(documentedEventPattern('exports'));
    const keys = [datePointerKey('leads', '2026-11-20'), latestPointerKey('leads')];
    const others = [nightKey('2026-11-20'), complete, manifestKeyOf('leads', 'night-1'), headKey('leads')];

    for (const key of keys) expect(matchesPattern(pointers, event(key)), key).toBe(true);
    const wrong = [...others.map((key) => event(key)), event(keys[0] ?? '', { bucket: 'others' })];
    expect(wrong.filter((other) => matchesPattern(pointers, other))).toEqual([]);
  });

  it('for nights match only a complete night', () => {
    const others = [nightKey('2026-11-20'), 'published/entity=leads/latest.json'].map((key) => event(key));

    expect(matchesPattern(nights, event(complete))).toBe(true);
    expect([...others, event(complete, { bucket: 'others' })].filter((other) => matchesPattern(nights, other))).toEqual(
      [],
    );
  });
});

describe('docs/runbook.md', () => {
  const entries = runbookEntries();
  const commands = allCommands(readFileSync('docs/runbook.md', 'utf8'));

  it('sets the deployment once, in its first command', () => {
    expect(commands[0]).toBe('export CRM_EXPORT_DEPLOYMENT=NAME');
  });

  it('has one entry for every alarm, every error and every other end, and no further entry', () => {
    const names = new Set([...Object.keys(ALARMS), ...Object.keys(ERRORS), ...Object.keys(OTHER_ENDS)]);
    expect(entries.map(({ id }) => id).toSorted()).toEqual([...names].toSorted());
  });

  it.each(entries)('says in $id what it means, and how to fix it', ({ text }) => {
    expect(text).toContain('**Means.**');
    expect(text).toContain('**Fix.**');
  });

  it.each(entries)('has at most 60 words in $id, not counting commands', ({ text }) => {
    const words = text.replaceAll(/^```sh\n[\s\S]*?^```/gm, '').split(/\s+/);

    expect(words.filter((word) => /[\p{L}\p{N}]/u.test(word)).length).toBeLessThanOrEqual(60);
  });

  it.each([...new Set(commands)].filter((command) => command.startsWith('npx --no -- crm-export ')))(
    'has only commands that can be parsed: %s',
    async (line) => {
      vi.stubEnv('CRM_EXPORT_DEPLOYMENT', 'test');

      expect(await isAccepted(line.replace('ENTITY', 'leads').split(' ').slice(4))).toBe(true);
    },
  );
});

// The name is free in the registry: without --no, npx would install whatever somebody publishes under it. Without --, npx takes
// the first option for itself.
it('every document and message calls the command as "npx --no -- crm-export"', () => {
  const files = globSync(['*.md', 'docs/**/*.md', 'sandbox/*.md', '{cli,core,lambdas,lib,local,scripts}/**/*.ts']);
  const wrong = files.flatMap((file) => {
    // What earlier releases had stays in the changelog.
    const [text = ''] = readFileSync(file, 'utf8').split(/^## \[\d/m);
    const shown =
      text.match(/\b(?:npx|npm exec)(?! --no -- crm-export\b)[^\n`]*\bcrm-export(?![-\w/.])|npm run cl[i]\b/g) ?? [];
    return shown.map((command) => `${file}: ${command}`);
  });

  expect(wrong).toEqual([]);
});

describe('links between documents', () => {
  const documents = globSync(['*.md', 'docs/**/*.md', 'sandbox/*.md']);

  it.each(documents)('lead to an existing file and heading from %s', (file) => {
    const links = [...readFileSync(file, 'utf8').matchAll(/\]\((?!https?:)([^)#]*)(?:#([^)]*))?\)/g)];
    const broken = links.filter(([, path, anchor]) => {
      const target = path ? normalize(join(dirname(file), path)) : file;
      return !existsSync(target) || (anchor !== undefined && !anchorsOf(target).includes(anchor));
    });

    expect(broken.map(([link]) => link)).toEqual([]);
  });

  it('in the code name documents that exist', () => {
    const sources = globSync('{bin,lib,lambdas,core,transfer,cli,sandbox,local,bench,scripts}/**/*.{ts,json}');
    const broken = sources.flatMap((file) =>
      [...readFileSync(file, 'utf8').matchAll(/docs\/(?:[a-z\d-]+\/)*[a-z\d-]+(?:\.md|\.json)?/g)]
        .filter(([name]) => globSync(`${name}*`).length === 0)
        .map(([name]) => `${file}: ${name}`),
    );

    expect(broken).toEqual([]);
  });
});

/** The anchors that GitHub gives the headings of a document. */
function anchorsOf(file: string): string[] {
  const headings = [...readFileSync(file, 'utf8').matchAll(/^#{1,6} (.+)$/gm)].map((match) => match[1] ?? '');
  return headings.map((heading) =>
    heading
      .toLowerCase()
      .replace(/[^\p{L}\p{N}\s_-]/gu, '')
      .replaceAll(' ', '-'),
  );
}
