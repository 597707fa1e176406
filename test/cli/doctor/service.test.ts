import { expect, test } from 'vitest';
import { serviceChecks } from '../../../cli/doctor/service.ts';
import type { Entity } from '../../../core/config/entities.ts';
import { deployment } from '../../support/builders.ts';
import { serve } from '../support/aws-server.ts';

/** What is found at a CRM that refuses the fields of all entities, where the file switches the nights of contacts off. */
async function refusedBy(unknownPlans: Entity[]) {
  const baseUrl = await serve(() => ({ status: 400, type: 'application/json', body: '{}' }));
  const file = deployment({ crm: { baseUrl }, entities: { contacts: { enabled: false } } });
  const known = {
    crm: file.crm,
    file,
    unknownPlans,
    sameNights: unknownPlans.length === 0,
    sameClock: true,
    checks: [],
  };
  const now = () => new Date('2026-11-20T12:00:00Z');
  const tokens = {
    accessToken: 'a',
    refreshToken: 'r',
    scope: '',
    obtainedAt: '2026-11-20T11:59:00Z',
    expiresAt: null,
  };
  const checks = await serviceChecks(known, tokens, { now, refreshed: true, refreshCommand: 'REFRESH' });
  return Object.fromEntries(checks.map(({ id, status }) => [id, status]));
}

test('an entity whose night is switched off cannot fail a night', async () => {
  expect(await refusedBy([])).toMatchObject({ 'columns.leads': 'failed', 'columns.contacts': 'warning' });
});

test('where another plan is deployed, that the file switches the night off counts for nothing', async () => {
  expect(await refusedBy(['contacts'])).toMatchObject({ 'columns.leads': 'failed', 'columns.contacts': 'failed' });
});
