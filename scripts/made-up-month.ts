import { crc32 } from 'node:zlib';
import type { Attempt, Facts } from '../cli/night/night-facts.ts';
import { executionOf, runOf } from '../cli/runs/run.ts';
import { deploymentSchema } from '../core/config/deployment.ts';
import { ENTITIES, type Entity } from '../core/config/entities.ts';
import { ERRORS, type ErrorName } from '../core/errors.ts';
import { LAYOUT } from '../core/export/layout.ts';
import type { Manifest } from '../core/export/manifest.ts';
import { Draw } from '../sandbox/data/draw.ts';
import { COLUMNS } from '../sandbox/data/entity-columns.ts';
import { crc32Text } from '../transfer/base/crc32.ts';

/** A made-up month of nights from the generator of the sandbox: always the same, without real data. */

const NIGHTS = 30;
const LAST = Date.UTC(2026, 10, 20);
const DAY_MS = 86_400_000;
const CONFIGURED = deploymentSchema.parse({
  crm: { baseUrl: 'https://crm.invalid/api/v1', authUrl: 'https://crm.invalid/auth' },
});

/** Records at the beginning, and records added per day. */
const SIZES: Partial<Record<Entity, [records: number, added: number]>> = {
  leads: [18_400, 130],
  'agent-numbers': [212, 0],
  workflows: [64, 1],
  contacts: [41_700, 90],
  customers: [26_300, 45],
  meetings: [7_900, 60],
  employers: [3_150, 4],
};

/** Failures: the number of nights before the last night, the entity, and the error. `undefined`: there was no run. */
const TROUBLE: [nightsAgo: number, entity: Entity, error: ErrorName | undefined][] = [
  [6, 'contacts', 'ExportDeadlineExceeded'],
  [13, 'leads', 'CrmUnavailable'],
  [13, 'workflows', 'CrmUnavailable'],
  [13, 'meetings', 'CrmUnavailable'],
  [21, 'employers', undefined],
];

/** A night with a slow CRM and a file with rows of a different length. */
const WARNED: [nightsAgo: number, entity: Entity] = [9, 'customers'];

/** A month with a complete last night; `last` adds failures to that night. */
export function madeUpMonth(
  last: { missing?: Entity[]; failed?: Entity[]; paused?: Entity[]; withoutRule?: Entity[] } = {},
): Facts {
  const { missing = [], failed = [], paused = [], withoutRule = [] } = last;
  const trouble = [...TROUBLE];
  for (const entity of missing) trouble.push([0, entity, undefined]);
  for (const entity of failed) trouble.push([0, entity, 'ReauthorizationRequired']);
  for (const ago of [0, 1, 2]) for (const entity of [...paused, ...withoutRule]) trouble.push([ago, entity, undefined]);
  const published: Manifest[] = [];
  const attempts: Attempt[] = [];
  for (let ago = NIGHTS - 1; ago >= 0; ago -= 1) {
    for (const entity of ENTITIES) {
      const wrong = trouble.find(([nights, of]) => nights === ago && of === entity);
      if (!wrong) published.push(publishedManifest(ago, entity));
      else if (wrong[2]) attempts.push(attempt(ago, entity, wrong[2]));
    }
  }
  const rules = ENTITIES.map((entity) => {
    return [entity, paused.includes(entity) ? 'paused' : withoutRule.includes(entity) ? 'withoutRule' : 'on'];
  });
  return {
    deployment: 'prod',
    configured: CONFIGURED,
    now: new Date(LAST + 7 * 3_600_000),
    nights: NIGHTS,
    published,
    attempts,
    endedWell: {},
    recorded: [],
    newest: {},
    deployedAt: undefined,
    rules: Object.fromEntries(rules),
    grant: null,
  };
}

function begun(ago: number, entity: Entity) {
  const start = LAST - ago * DAY_MS + 3_600_000 + ENTITIES.indexOf(entity) * 7 * 60_000;
  const startedAt = new Date(start).toISOString();
  const stamp = startedAt.replace(/[-:]|\.\d+/g, '');
  const draw = new Draw(`month/${entity}`, ago);
  const execution = `${entity}-${stamp}-${draw.reference('run', 9999).slice(0, 6)}`;
  return { start, startedAt, date: startedAt.slice(0, 10), execution, draw };
}

function publishedManifest(ago: number, entity: Entity): Manifest {
  const { start, startedAt, date, execution, draw } = begun(ago, entity);
  const [records, added] = SIZES[entity] ?? [1000, 5];
  const rows = records + added * (NIGHTS - ago) + draw.int(-added, added);
  const bytes = rows * (60 + COLUMNS[entity].length * 11) + draw.int(0, 900);
  const after = (seconds: number) => new Date(start + seconds * 1000).toISOString();
  const seconds = 40 + Math.round(rows / 300) + draw.int(0, 60);
  const prefix = `runs/entity=${entity}/run=${execution}/`;
  const header = ['id', ...COLUMNS[entity].map(({ fieldName }) => fieldName)];
  const [warnedAgo, warnedEntity] = WARNED;
  const warned = ago === warnedAgo && entity === warnedEntity;
  return {
    schemaVersion: LAYOUT,
    execution,
    startedAt,
    file: {
      key: `${prefix}${entity}.csv`,
      bytes,
      crc32: crc32Text(crc32(execution)),
      contentType: 'text/csv',
      storedAt: after(seconds),
      restarts: 0,
      undeclaredEnd: false,
      format: 'csv',
      compression: null,
      dialect: null,
      rows,
      header,
      content: null,
    },
    run: {
      entity,
      date,
      exportId: draw.reference('export', 99_999),
      createdAt: after(2),
      adopted: null,
      request: { columns: header },
      listed: { others: [], labels: null, types: null, complete: false },
      fingerprint: draw.reference('print', 9).replaceAll('-', ''),
      plan: 'p',
      kind: 'full',
      differs: [],
      excepted: [],
      drift: null,
      keptUntil: new Date(start + 90 * DAY_MS).toISOString().slice(0, 10),
      softwareVersion: '1.0.0',
    },
    checks: 2 + Math.round(seconds / 60),
    unansweredCreates: 0,
    state: 'published',
    guards: null,
    releasedBefore: [],
    warnings: warned ? ['3 rows have more or fewer fields than the first record.'] : [],
  };
}

function attempt(ago: number, entity: Entity, error: ErrorName): Attempt {
  const { startedAt, date, execution } = begun(ago, entity);
  const cause = `The run ended with ${error}. ${ERRORS[error].advice}`;
  const ended = { name: execution, status: 'FAILED', startDate: new Date(startedAt), error, cause } as const;
  return { ...runOf(executionOf({ ...ended, input: JSON.stringify({ entity, date }) })), entity, date };
}
