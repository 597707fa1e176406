import { expect, test } from 'vitest';
import { createLog } from '../../../core/log/log.ts';
import type { LogFields } from '../../../core/log/log-fields.ts';
import { CANARY, EXPORT_ID } from '../../support/builders.ts';
import { written } from '../../support/written.ts';

const RUN = { entity: 'leads', execution: 'night-1', exportId: EXPORT_ID } as const;

test('a line is JSON with level, message, time, step, run and fields', async () => {
  const { lines } = await written(() => {
    const log = createLog('CheckStatus').about(RUN);
    log.info('called', { status: 200, path: '/leads/exports/{id}' });
  });

  expect(lines).toEqual([
    {
      level: 'INFO',
      message: 'called',
      timestamp: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      step: 'CheckStatus',
      ...RUN,
      status: 200,
      path: '/leads/exports/{id}',
    },
  ]);
});

test('a line contains no field of the previous run', async () => {
  const { lines } = await written(() => {
    createLog('CheckStatus').about(RUN).about({ execution: 'night-2' }).info('called', {});
  });

  expect(lines).toMatchObject([{ execution: 'night-2' }]);
  expect(Object.keys(lines[0] ?? {})).not.toContain('exportId');
});

const strangers: [string, object][] = [
  ['an unlisted field', { body: CANARY }],
  ['several unlisted fields', { authorization: CANARY, event: { input: CANARY }, status: 200 }],
  ['a field with the name of an inherited property', { constructor: CANARY, toString: CANARY }],
  ['an object in place of a text', { path: { query: CANARY } }],
  ['objects in a list of texts', { frames: [{ at: CANARY }] }],
  ['an error', { error: new Error(CANARY) }],
  ['the query of a URL', { path: `https://files.test/a.csv?signature=${CANARY}&x=${CANARY}` }],
  ['the fragment of a URL', { key: `see HTTP://files.test/a#${CANARY} there` }],
  ['the query of a URL in a list', { missing: [`it said https://files.test/?${CANARY}`] }],
  ['text after the first 1,000 characters', { key: `${'http://'.repeat(20_000)}${CANARY}` }],
];

test.each(strangers)('%s is in no log line and in no metric', async (_, fields) => {
  const { text, lines } = await written(() => {
    const log = createLog('CheckStatus', 'prod').about({ entity: 'leads', ...fields } as never);
    log.info('called', fields as LogFields);
    log.error('called', fields as LogFields);
    log.measure({ RunsEnded: 1 }, 'PUBLISHED');
  });

  expect(text).not.toContain(CANARY);
  expect(lines).toHaveLength(3);
});

test('removes the query of a URL from a message', async () => {
  const { lines } = await written(() =>
    createLog('CheckStatus').info(`GET https://files.test/a.csv?sig=${CANARY} now`, {}),
  );

  expect(lines[0]?.message).toBe('GET https://files.test/a.csv now');
});

test('writes metrics in a separate line with deployment, run and step', async () => {
  const { lines } = await written(() => {
    const log = createLog('PublishFile', 'prod').about(RUN);
    log.measure({ RunsEnded: 1 }, 'PUBLISHED');
  });

  expect(lines).toEqual([
    {
      step: 'PublishFile',
      ...RUN,
      outcome: 'PUBLISHED',
      RunsEnded: 1,
      _aws: {
        Timestamp: expect.any(Number),
        CloudWatchMetrics: [
          {
            Namespace: 'crm-export-prod',
            Dimensions: [['entity', 'outcome'], ['outcome']],
            Metrics: [{ Name: 'RunsEnded', Unit: 'Count' }],
          },
        ],
      },
    },
  ]);
});

test('writes no metrics without a deployment name', async () => {
  const { text } = await written(() => createLog('PublishFile', '').measure({ TokenRefreshes: 1 }));

  expect(text).toBe('');
});

test.each(['SILENT', 'ERROR'])('log level %s suppresses lines of level INFO, but no metrics', async (level) => {
  const { lines } = await written(
    () => {
      const log = createLog('PublishFile', 'prod');
      log.info('published', {});
      log.measure({ TokenRefreshes: 1 });
    },
    { LOG_LEVEL: level },
  );

  expect(lines).toMatchObject([{ TokenRefreshes: 1 }]);
});

/** What a person may set in a function in production. */
const DEBUG = {
  LOG_LEVEL: 'DEBUG',
  POWERTOOLS_LOG_LEVEL: 'TRACE',
  POWERTOOLS_LOGGER_LOG_EVENT: 'true',
  POWERTOOLS_LOGGER_SAMPLE_RATE: '1',
  POWERTOOLS_METRICS_DISABLED: 'true',
  POWERTOOLS_SERVICE_NAME: CANARY,
  ENVIRONMENT: CANARY,
};

test('with every debug setting, no line has another field than usual, and metrics are written', async () => {
  const act = () => {
    const log = createLog('CheckStatus', 'prod').about(RUN);
    log.info('called', { status: 200, ...{ body: CANARY } });
    log.error('crashed', { crash: 'TypeError' });
    log.measure({ RunsEnded: 1 }, 'PUBLISHED');
  };
  const fieldsOf = ({ lines }: Awaited<ReturnType<typeof written>>) => lines.map((line) => Object.keys(line));

  const [usual, debugged] = [await written(act), await written(act, DEBUG)];

  expect(fieldsOf(debugged)).toEqual(fieldsOf(usual));
  expect(usual.lines).toHaveLength(3);
  expect(debugged.text).not.toContain(CANARY);
});
