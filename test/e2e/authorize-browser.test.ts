import { afterAll, beforeAll, describe, expect, inject, onTestFinished, test } from 'vitest';
import { authorize } from '../../cli/access/authorize.ts';
import { startSandbox } from '../../sandbox/sandbox.ts';
import { type Browser, hasChromium, startChromium } from '../../scripts/chromium.ts';
import { deployment } from '../support/builders.ts';
import { functionAt, makePlaces } from './support/grant-places.ts';

/** A page as a screen reader presents it. */
const PAGE = `document.querySelector('main h1') && JSON.stringify({
  language: document.documentElement.lang,
  title: document.title,
  heading: [...document.querySelectorAll('h1')].map((it) => it.textContent),
  landmarks: document.querySelectorAll('main').length,
  scripts: document.scripts.length,
  text: document.querySelector('main').innerText,
  html: document.documentElement.outerHTML,
  colours: [getComputedStyle(document.querySelector('h1')).color, getComputedStyle(document.body).backgroundColor],
})`;

/** Presses a button of the sandbox's consent page. */
const press = (decision: string) => `document.querySelector('button[value=${decision}]')?.click() ?? true`;
const there = (decision: string) => `document.querySelector('button[value=${decision}]')?.innerText`;

describe.skipIf(!hasChromium())('authorize in a real browser', () => {
  const cloud = inject('cloud');
  let browser: Browser;
  beforeAll(async () => {
    browser = await startChromium();
  });
  afterAll(() => browser?.close());

  async function setting() {
    const sandbox = await startSandbox();
    onTestFinished(sandbox.close);
    const places = await makePlaces(cloud.endpoint);
    const { crm } = deployment({ crm: { authUrl: sandbox.authUrl } });
    const { clientId, clientSecret } = sandbox;
    return { sandbox, places, options: { crm, configuration: 'config/dev.json', clientId, clientSecret } };
  }

  async function callbackPage() {
    // The CRM's own page also has a heading.
    expect(await browser.value('/\\/callback|back/.test(location.pathname) && document.title || null')).toBeTruthy();
    return JSON.parse(String(await browser.value(PAGE)));
  }

  test('Allow shows an accessible page without data, and stores the grant', async () => {
    const { sandbox, places, options } = await setting();
    const page = Promise.withResolvers<Record<string, unknown>>();

    const onUrl = async (url: string) => {
      await browser.open(url);
      expect(await browser.value(there('allow'))).toBe('Allow');
      await browser.value(press('allow'));
      // The answer may arrive before the button press returns.
      page.resolve(callbackPage());
    };
    const done = await authorize(places.target, { ...options, onUrl });

    const tokens = await places.tokens();
    expect(done).toMatchObject({ scope: tokens.scope, expiresAt: tokens.expiresAt });
    const shown = await page.promise;
    expect(shown).toMatchObject({
      language: 'en',
      title: 'Authorized at the CRM - CRM export',
      landmarks: 1,
      scripts: 0,
      heading: ['Authorized at the CRM'],
      text: expect.stringMatching(/This window can be closed\.$/),
      colours: ['rgb(0, 0, 0)', expect.stringMatching(/rgba\(0, 0, 0, 0\)|rgb\(255, 255, 255\)/)],
    });
    const told = JSON.stringify([shown, done]);
    for (const secret of [tokens.accessToken, tokens.refreshToken, options.clientSecret, 'state', 'code='])
      expect(told).not.toContain(secret);
    expect(browser.complaints.filter((text) => !text.includes('favicon'))).toEqual([]);

    await functionAt(places, options.crm)({ rejected: tokens.accessToken });
    expect(sandbox.ledger.violations()).toEqual([]);
  });
});
