import { expect, test } from 'vitest';
import { exportsText } from '../../lib/export-app.ts';
import { deployment } from '../support/builders.ts';

const textOf = (entities: NonNullable<Parameters<typeof deployment>[0]>['entities']) =>
  exportsText({ name: 'prod', deployment: deployment({ entities }) });

test('settings of one entity disable no other: all seven are named', () => {
  expect(textOf({ leads: {} })).toBe(
    'The deployment prod exports leads, agent-numbers, workflows, contacts, customers, meetings, employers.',
  );
});

test('left-out columns and disabled entities are named', () => {
  const entities = {
    leads: { columns: { except: ['nationalId', 'phone'] } },
    contacts: { columns: ['id', 'firstName'] },
    meetings: { enabled: false },
    employers: { enabled: false },
  };

  expect(textOf(entities)).toBe(
    'The deployment prod exports leads (without nationalId, phone), agent-numbers, workflows, contacts (2 columns), customers. Switched off: meetings, employers.',
  );
});

test('says that a deployment without enabled entities exports nothing', () => {
  const off = { enabled: false };
  const entities = {
    leads: off,
    'agent-numbers': off,
    workflows: off,
    contacts: off,
    customers: off,
    meetings: off,
    employers: off,
  };

  expect(textOf(entities)).toMatch(/^The deployment prod exports nothing by itself\. Switched off: leads, /);
});
