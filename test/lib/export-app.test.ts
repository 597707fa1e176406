import { expect, test } from 'vitest';
import { ENTITIES } from '../../core/config/entities.ts';
import { exportsText } from '../../lib/export-app.ts';
import { deployment } from '../support/builders.ts';
import { expectTexts } from '../support/screen.ts';

const textOf = (entities: NonNullable<Parameters<typeof deployment>[0]>['entities']) =>
  exportsText({ name: 'prod', deployment: deployment({ entities }) });
const off = { enabled: false };

test('names what a deployment exports by itself', async () => {
  const some = {
    leads: { columns: { except: ['nationalId', 'phone'] } },
    contacts: { columns: ['id', 'firstName'] },
    meetings: off,
    employers: off,
  };

  await expectTexts('exported-entities', [
    ['all entities', textOf({})],
    ['left-out columns and disabled entities', textOf(some)],
    ['no enabled entity', textOf(Object.fromEntries(ENTITIES.map((entity) => [entity, off])))],
  ]);
  // Settings of one entity disable no other.
  expect(textOf({ leads: {} })).toBe(textOf({}));
});
