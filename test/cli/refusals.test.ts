import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { tree } from '../lib/support/files.ts';
import { clockAt } from '../support/clock.ts';
import { DEAD_ADDRESS } from '../support/http-server.ts';
import { expectResults } from '../support/screen.ts';
import { runCli } from './support/run-cli.ts';

clockAt('2026-11-20T12:00:00Z');

/** No server listens there: a command that called AWS would exit with 3. */
const NOWHERE = `--deployment test --endpoint-url ${DEAD_ADDRESS} --region us-east-1`;
const CRM = '--crm-url https://crm.test/api/v1 --auth-url https://auth.test';

/** Command lines that are refused before any call. The deployment of lines without `--deployment` does not exist. */
const LINES = `
export --deployment x
folow --deployment x
folow --help --deployment x
start leeds
start
start leads --wiat
start leads --deployment local --endpoint-url here
stop leads --yes --deployment local --region ''
stop leads --yes --deployment local --endpoint-url ''
stop leads --yes --deployment ''
pause leads meeting
pause leads --all
plan --deployment nope
status --all-deployments --deployment local
list --since yesterday
list --since 2099-01-01
list --running --failed
authorize --port 70000
authorize --timeout 0
authorize --port 8400 --redirect-uri http://localhost:8400/x
authorize --run leeds
completion tcsh
report --nights 0
download leads --date 2026-11-20 --run x
download leads --date 2026-02-30
download leads -o - --json
download
download leads --all
download --all --run x
download --all -o -
download leads --excel -o -
release x
release x --reason ''
release x --reason LONG
backfill leads --from 2026-03-02 --to 2026-03-01
backfill leads --from 2026-02-29 --to 2026-03-01
backfill leads --from 2026-03-01
backfill leads --from 2026-03-01 --to 2026-03-03 --concurrency 0
backfill --from 2026-03-01 --to 2026-03-03
changes nobody
changes leads --release
changes leads --reason x
changes leads --release --reason x --json
table leads-night --outdated
table leads --outdated --date 2026-11-20
table leads --dry-run
update
update a.csv --resume b
update a.csv --dry-run --json
update a.csv --stop-after-failures 1001
update a.csv --over-newer
update --resume ../x
update FOLDER/none.csv
update FOLDER/folder.csv
update FOLDER/a.txt
update-status --failed-to a.jsonl
init --deployment prod --configuration NEW
init --deployment prod --configuration NEW --crm-url http://c.test/api/v1 --auth-url https://a.test
init --deployment prod --configuration NEW --crm-url https://c.test --auth-url https://a.test
init --deployment prod --configuration NEW --crm-url crm --auth-url https://a.test
init --deployment prod --configuration NEW ${CRM} --time-zone Jerusalem
init --deployment prod --configuration NEW ${CRM} --entities leeds
init --deployment prod --configuration NEW ${CRM} --entities ,
init --deployment prod --configuration NEW ${CRM} --email nobody
init --deployment Prod --configuration NEW ${CRM}
init --deployment schema ${CRM}
init --deployment example ${CRM}
init --deployment local ${CRM}
`;

test('wrong command lines each get one message that says what is right, and change nothing', async () => {
  const folder = tree({ 'folder.csv/x': '', 'a.txt': '{}' });
  const results = [];
  for (const line of LINES.trim().split('\n')) {
    const whole = /--deployment |^completion /.test(line) ? line : `${line} ${NOWHERE}`;
    const words = whole.replace('FOLDER', folder).replace('NEW', join(folder, 'new.json')).split(' ');
    const meant: Record<string, string> = { "''": '', LONG: 'x'.repeat(501) };
    results.push([`$ ${line}`, await runCli(...words.map((word) => meant[word] ?? word))] as const);
  }

  await expectResults('refusals', results);
  expect(new Set(results.map(([, { code }]) => code))).toEqual(new Set([2]));
  expect(results.filter(([line, { stdout }]) => stdout !== '' && !line.includes('--json'))).toEqual([]);
  expect(existsSync(join(folder, 'new.json'))).toBe(false);
});
