import { expect, test } from 'vitest';
import type { Conversation, SeenFile, SeenLink } from '../../../cli/probe/conversation/exchange.ts';
import { unseenFile } from '../../../cli/probe/conversation/file.ts';
import { settingsFor, toPaste } from '../../../cli/probe/settings.ts';
import { deployment } from '../../support/builders.ts';

interface Given {
  file?: Partial<SeenFile>;
  link?: Partial<SeenLink>;
  processedAfter?: number;
  challenge?: string;
  configuration?: Parameters<typeof deployment>[0];
}

/** The part of a configuration that fits what was seen of leads. */
function fitting(given: Given) {
  return toPaste(settingsOf(given), deployment(given.configuration));
}

function settingsOf({ file, link, processedAfter = 0, challenge, configuration }: Given) {
  const seenLink = { read: true, at: 'url', host: 'files.crm.example', listed: true, refused: null, parameters: [] };
  const status = { read: true, ofOther: false, at: 'status', word: 'PROCESSED', known: true };
  const call = { at: 0, milliseconds: 1, mediaType: '', headerNames: [], shape: '', code: null, trouble: null };
  const conversation: Conversation = {
    grant: {
      ...{ from: 'stored', clientAuthentication: 'basic', clientRefused: null, scope: '' },
      ...{ lifeSeconds: null, oddLife: false, ageSeconds: 0 },
    },
    scopes: [],
    exchanges: challenge
      ? [
          {
            ...{ ...call, step: 'create', entity: 'leads', purpose: 'main', call: 'POST /leads/exports', status: 403 },
            headers: { 'www-authenticate': challenge },
          },
        ]
      : [],
    fields: [],
    exports: [
      {
        ...{ purpose: 'main', entity: 'leads', id: null, idAgain: false, early: null },
        statuses: [{ ...status, seconds: processedAfter }],
        link: { ...seenLink, lifeSeconds: null, ...link },
        file: { ...unseenFile('id'), whole: true, header: 'names', ...file },
      },
    ],
    update: null,
  };
  return settingsFor(conversation, deployment(configuration));
}

test('what is as it is configured needs no setting', () => {
  expect(fitting({ processedAfter: 12 })).toEqual({});
});

test('a host that gave the file is added to those that are named, and one that nobody confirmed is not', () => {
  const crm = { fileHosts: ['old.crm.example'] };
  const unlisted = { listed: false };

  expect(fitting({ link: unlisted, configuration: { crm } })).toEqual({
    crm: { fileHosts: ['old.crm.example', 'files.crm.example'] },
  });
  expect(fitting({ link: { ...unlisted, refused: 'nobody confirmed its host' } })).toEqual({});
  expect(fitting({ link: unlisted, file: { trouble: 'The GET of the file was answered 403.' } })).toEqual({});
});

test('hosts and scopes that stand in the file and are not deployed yet stay in it', () => {
  const link = { listed: false };
  const settings = settingsOf({ link, challenge: 'Bearer scope="exports:read"' });

  expect(toPaste(settings, { crm: { fileHosts: ['new.crm.example'], scopes: ['openid'] } })).toEqual({
    crm: { fileHosts: ['new.crm.example', 'files.crm.example'], scopes: ['openid', 'exports:read'] },
  });
  expect(toPaste(settings, { crm: { fileHosts: ['files.crm.example'] } })).toMatchObject({
    crm: { fileHosts: ['files.crm.example'] },
  });
});

test.each([
  [2, undefined],
  [20, undefined],
  [21, 21],
  [4000, 100],
])(
  'an export that is there after %i s has a first look after %s s, where 10 are configured',
  (processedAfter, wait) => {
    expect(fitting({ processedAfter })).toEqual(wait === undefined ? {} : { polling: { firstWaitSeconds: wait } });
  },
);

test('a first look that is far too late comes sooner, and not at once', () => {
  const polling = { firstWaitSeconds: 60 } as never;
  expect(fitting({ processedAfter: 2, configuration: { polling } })).toEqual({ polling: { firstWaitSeconds: 5 } });
});

test('a text of a header becomes a label beside what is configured of the columns', () => {
  const file = { header: 'other', headerText: 'Record' } as const;
  const of = (columns: unknown) => fitting({ file, configuration: { entities: { leads: { columns } } } });

  expect(of('all')).toEqual({ entities: { leads: { columns: { labels: { Record: 'id' } } } } });
  expect(of(['id'])).toEqual({ entities: { leads: { columns: { only: ['id'], labels: { Record: 'id' } } } } });
  expect(of({ except: ['x'], labels: { Mobile: 'cell' } })).toEqual({
    entities: { leads: { columns: { except: ['x'], labels: { Mobile: 'cell', Record: 'id' } } } },
  });
  expect(fitting({ file: { ...file, headerText: null } })).toEqual({});
});

test('a file without a header is told, unless columns are left out', () => {
  const file = { header: 'none' } as const;
  expect(fitting({ file })).toEqual({ entities: { leads: { columns: { header: 'none' } } } });
  const columns = { except: ['phone'] };
  expect(fitting({ file, configuration: { entities: { leads: { columns } } } })).toEqual({});
});

test('a scope that a refusal names is added', () => {
  expect(fitting({ challenge: 'Bearer error="insufficient_scope" scope="exports:read"' })).toEqual({
    crm: { scopes: ['openid', 'profile', 'global:export', 'exports:read'] },
  });
});
