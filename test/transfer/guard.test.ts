import type { LookupAddress } from 'node:dns';
import { createServer, get } from 'node:http';
import { isIP, type LookupFunction } from 'node:net';
import { text } from 'node:stream/consumers';
import { describe, expect, onTestFinished, test } from 'vitest';
import { agentFor } from '../../transfer/base/http.ts';
import { TransferError } from '../../transfer/base/transfer-errors.ts';
import type { SourcePolicy } from '../../transfer/base/types.ts';
import { checkAddress, guardedLookup, type Resolve } from '../../transfer/source/guard.ts';
import { CANARY } from '../support/builders.ts';
import { portOf } from '../support/loopback.ts';
import { expectMessages } from '../support/screen.ts';

const HOST = 'files.example.com';
const POLICY: SourcePolicy = { hosts: [HOST, '.s3.eu-west-1.amazonaws.com'], local: false };
const LOCAL: SourcePolicy = { ...POLICY, local: true };
const PUBLIC = '93.184.216.34';

/** The message of the refusal of an address. Throws if the address is accepted, or fails for another reason. */
function refusal(address: string, policy = POLICY, ...redirect: [base?: URL, hop?: number]): string {
  try {
    return `accepted: ${checkAddress(address, policy, ...redirect).href}`;
  } catch (error) {
    if (!(error instanceof TransferError)) throw error;
    expect(error.reason).toBe('address-rejected');
    return error.message;
  }
}

describe('an address', () => {
  test.each([
    [`https://${HOST}/a.csv?sig=1`, `https://${HOST}/a.csv?sig=1`],
    [`https://${HOST}:443/a`, `https://${HOST}/a`],
    [`HTTPS://FILES.Example.COM/a`, `https://${HOST}/a`],
    [` https://${HOST}/a b\n`, `https://${HOST}/a%20b`],
    [`https://ｆiles.example。com/a`, `https://${HOST}/a`],
    [`https://files%2Eexample%2Ecom/a`, `https://${HOST}/a`],
    [`https:\\\\${HOST}\\a`, `https://${HOST}/a`],
    ['https://bucket.s3.eu-west-1.amazonaws.com/k', 'https://bucket.s3.eu-west-1.amazonaws.com/k'],
    ['https://a.b.s3.eu-west-1.amazonaws.com/k', 'https://a.b.s3.eu-west-1.amazonaws.com/k'],
    [`https://${HOST}/a?b=c#${CANARY}`, `https://${HOST}/a?b=c`],
  ])('requests %j as %s', (address, asked) => {
    expect(checkAddress(address, POLICY).href).toBe(asked);
  });

  test.each([[], ['.']])('is refused with every host if the list of hosts is %j', (...hosts) => {
    expect(refusal(`https://${HOST}/`, { hosts, local: false })).toContain(`leads to ${HOST},`);
  });
});

test.each([
  ['https://other.example.com/a', 'crm.fileHosts'],
  ['https://other.example.com:8443/a', undefined],
  [`https://${HOST}:8443/a`, undefined],
])('the refusal of %s names the setting %s', (address, setting) => {
  expect(() => checkAddress(address, POLICY)).toThrow(expect.objectContaining({ setting }));
});

const refusals = (where: string, policy: SourcePolicy, addresses: string[], base?: URL) =>
  addresses.map((address) => [`${where}: ${JSON.stringify(address)}`, refusal(address, policy, base)] as const);

test('every other address is refused for a reason that a person can act on', async () => {
  const schemes = ['http', 'ftp', 'file', 'data', 'javascript', 'blob', 'ws', 'wss', 's3'];
  const otherSchemes = [
    ...schemes.map((scheme) => `${scheme}://${HOST}/a`),
    ...['data:text/csv,a', 'javascript:alert(1)', `blob:https://${HOST}/1`, 'file:///etc/passwd', `ftp:${HOST}`],
  ];
  await expectMessages('file-addresses-refused', [
    ...refusals('deployed', POLICY, [
      ...['', '/a.csv', '//files.example.com/a', 'https://', 'https://a b/', 'https://files.example.com:99999/'],
      ...[`https://user@${HOST}/`, `https://user:pass@${HOST}/`, `https://:pass@${HOST}/`],
      ...[`https://${HOST}@evil.example/`, `https://${HOST}%2F@evil.example/`, `https://evil.example\\@${HOST}/`],
      ...[`https://${HOST}:80/`, `https://${HOST}:8443/`, `https://${HOST}:0/`],
      ...[`https://${HOST}./`, 'https://localhost./', 'https://localhost/', 'https://example.com/'],
      ...['https://xfiles.example.com/', 'https://a.files.example.com/', 'https://files.example.com.evil.example/'],
      ...['https://s3.eu-west-1.amazonaws.com/bucket/k', 'https://evils3.eu-west-1.amazonaws.com/'],
      ...['https://.s3.eu-west-1.amazonaws.com/', ...otherSchemes],
    ]),
    ...refusals('local', LOCAL, [
      ...['http://files.example.com/', 'https://files.example.com:8443/', 'http://10.0.0.1/', 'https://10.0.0.1/'],
      ...['https://[::ffff:127.0.0.1]/', 'https://[::]/', 'https://0.0.0.0/', 'http://127.0.0.1.example.com/'],
      ...['https://127.0.0.1.example.com/', 'https://localhost.example.com/', 'http://user@127.0.0.1/'],
      ...['ftp://127.0.0.1/', ...otherSchemes],
    ]),
    ...refusals(
      'redirect',
      POLICY,
      [
        ...[`http://${HOST}/`, 'http://127.0.0.1:9001/2018-06-01/runtime/invocation/next', 'https://127.0.0.1/'],
        ...['//169.254.169.254/latest/meta-data', '//2852039166/', '//evil.example/', `//user@${HOST}/`],
        ...[`//${HOST}:8443/`, 'file:///etc/passwd', 'https://'],
      ],
      new URL(`https://${HOST}/a/b.csv?sig=${CANARY}`),
    ),
    ['resolved: a private address', String((await lookUp(['10.0.0.1'])).error)],
  ]);
});

describe('a refusal does not quote the address', () => {
  const long = `${CANARY}${'x'.repeat(41 - CANARY.length)}`;
  test.each([
    `//[${CANARY}`,
    `${CANARY}:rest`,
    `https://${CANARY}@${HOST}/`,
    `https://u:${CANARY}@${HOST}/`,
    `https://${HOST}:81/${CANARY}?a=${CANARY}#${CANARY}`,
    `http://${HOST}/${CANARY}?a=${CANARY}`,
    `https://other.example/${CANARY}?a=${CANARY}#${CANARY}`,
    `https://10.0.0.1/${CANARY}`,
    `https://${long}.example.com/`,
    `https://_${CANARY}.example.com/`,
    `https://${'a.'.repeat(127)}${CANARY}.example.com/`,
    `https://a b/${CANARY}`,
  ])('%s', (address) => {
    expect(refusal(address)).not.toContain('accepted');
    expect(refusal(address)).not.toContain(CANARY);
    expect(refusal(address, POLICY, new URL(`https://${HOST}/${CANARY}?b=${CANARY}`))).not.toContain(CANARY);
  });

  test.each([
    ['a'.repeat(40), true],
    ['a'.repeat(41), false],
    ['a_b', false],
    ['xn--bcher-kva', true],
  ])('but names a plain host: with the label %s it is shown: %s', (label, told) => {
    const message = refusal(`https://${label}.example.com/`);

    expect(message.includes(`${label}.example.com`)).toBe(told);
  });

  test('but names a plain host of at most 253 characters', () => {
    const host = (length: number) => `${'a.'.repeat(120)}${'b'.repeat(length - 243)}.cc`;

    expect(refusal(`https://${host(253)}/`)).toContain(host(253));
    expect(refusal(`https://${host(254)}/`)).not.toContain(host(254));
  });
});

describe('refuses an IP address as the host', () => {
  const notations = [
    ...[
      '127.0.0.1',
      '2130706433',
      '017700000001',
      '0x7f000001',
      '127.1',
      '0177.0.0.1',
      '127.0.0.1.',
      '%31%32%37.0.0.1',
    ],
    ...['１２７.0.0.1', '127。0。0。1', '0', '169.254.169.254', '0251.0376.0251.0376', '[::1]', '[::ffff:127.0.0.1]'],
    ...['[64:ff9b::a9fe:a9fe]', '[fe80::1]', '[fd00:ec2::254]', '[2606:4700::1111]', PUBLIC],
  ];
  test.each(notations)('%s', (host) => {
    const listed = { hosts: [host, new URL(`https://${host}`).hostname], local: false };

    expect(refusal(`https://${host}/a`, listed)).toContain('names an IP address');
  });
});

describe('a redirect', () => {
  const base = new URL(`https://${HOST}/a/b.csv?sig=${CANARY}`);

  test.each([
    ['c.csv', `https://${HOST}/a/c.csv`],
    ['/c.csv?d', `https://${HOST}/c.csv?d`],
    [`//x.s3.eu-west-1.amazonaws.com/k#f`, 'https://x.s3.eu-west-1.amazonaws.com/k'],
    [`https://${HOST}/c`, `https://${HOST}/c`],
  ])('to %s is followed to %s', (location, asked) => {
    expect(checkAddress(location, POLICY, base).href).toBe(asked);
  });

  test.each(['http://127.0.0.1:8080/', 'http://localhost/', `http://${HOST}/`])(
    'from https to %s is refused even in a local deployment',
    (location) => {
      const why = refusal(location, POLICY, base);

      expect([base, new URL('https://localhost:8443/')].map((from) => refusal(location, LOCAL, from))).toEqual([
        why,
        why,
      ]);
    },
  );

  test('from http to http or https is followed on loopback', () => {
    const local = new URL('http://127.0.0.1:8080/a');

    expect(checkAddress('/b', LOCAL, local).href).toBe('http://127.0.0.1:8080/b');
    expect(checkAddress('https://localhost:8443/b', LOCAL, local).href).toBe('https://localhost:8443/b');
  });
});

describe('a local deployment', () => {
  test.each([
    'http://127.0.0.1/',
    'http://127.0.0.1:8080/',
    'https://127.255.255.254:8443/',
    'http://localhost:1/',
    'https://localhost/',
    'http://[::1]:8080/',
    `https://${HOST}/`,
  ])('accepts %s', (address) => {
    expect(checkAddress(address, LOCAL).href).toBe(address);
  });
});

/** A resolver that returns these addresses, one list per query; then the last one repeatedly. */
function resolver(...answers: string[][]): Resolve & { asked: string[] } {
  const asked: string[] = [];
  const resolve: Resolve = (hostname, _, callback) => {
    const addresses = answers[Math.min(asked.length, answers.length - 1)] ?? [];
    asked.push(hostname);
    callback(
      null,
      addresses.map((address) => ({ address, family: isIP(address) })),
    );
  };
  return Object.assign(resolve, { asked });
}

type Found = { error: Error | null; found: string | LookupAddress[] };

const asked = (lookup: LookupFunction, host = HOST) =>
  new Promise<Found>((done) => {
    lookup(host, { all: true }, (error, found) => done({ error, found }));
  });

const lookUp = (addresses: string[], local = false) => asked(guardedLookup({ hosts: [], local }, resolver(addresses)));

const resolvesTo = (...addresses: string[]) => ({
  error: null,
  found: addresses.map((address) => ({ address, family: isIP(address) })),
});

describe('the lookup', () => {
  const V6 = '2606:4700::1111';

  test('returns the checked addresses in the order of the resolver', async () => {
    expect(await lookUp([V6, PUBLIC])).toEqual(resolvesTo(V6, PUBLIC));
  });

  test('requests all addresses from the resolver, with the hints of the connection', () => {
    const seen: object[] = [];
    const lookup = guardedLookup(POLICY, (_, options) => seen.push(options));

    lookup(HOST, { all: true, hints: 32 }, () => {});

    expect(seen).toEqual([{ all: true, order: 'verbatim', hints: 32 }]);
  });

  test.each([
    ...['0.0.0.0', '0.1.2.3', '10.0.0.1', '100.64.0.1', '100.127.255.255', '127.0.0.1', '169.254.169.254'],
    ...['169.254.170.2', '172.16.0.1', '172.31.255.255', '192.0.0.1', '192.0.2.1', '192.88.99.1', '192.168.1.1'],
    ...['198.18.0.1', '198.51.100.1', '203.0.113.1', '224.0.0.1', '239.1.1.1', '240.0.0.1', '255.255.255.255'],
    ...['::', '::1', '::ffff:10.0.0.1', '::ffff:a9fe:a9fe', '::ffff:127.0.0.1', '::127.0.0.1', '::ffff:0:127.0.0.1'],
    ...['64:ff9b::a9fe:a9fe', '64:ff9b::10.0.0.1', '64:ff9b:1::808:808', '100::1', '2001::1', '2001:db8::1'],
    ...['2002:7f00:1::', '2002:808:808::1', '3fff::1', '4000::1', '5f00::1', 'fc00::1', 'fd00:ec2::254'],
    ...['fe80::1', 'fe80::1%eth0', 'fec0::1', 'ff02::1', '1', '0177.0.0.1', 'x', ''],
  ])('refuses %s, alone or among public addresses in any position', async (address) => {
    for (const found of [[address], [PUBLIC, address], [address, PUBLIC], [V6, PUBLIC, address]]) {
      const { error, found: returned } = await lookUp(found);

      expect(error).toMatchObject({ name: 'TransferError', reason: 'address-rejected' });
      expect(returned).toEqual([]);
    }
  });

  test.each([PUBLIC, '1.1.1.1', '172.32.0.1', '100.128.0.1', '169.253.1.1', V6, '::ffff:8.8.8.8', '64:ff9b::808:808'])(
    'returns %s, which is public',
    async (address) => {
      expect(await lookUp([address])).toEqual(resolvesTo(address));
    },
  );

  test.each(['127.0.0.1', '127.8.8.8', '::1'])('returns %s if the deployment is local', async (address) => {
    expect(await lookUp([address, PUBLIC], true)).toEqual(resolvesTo(address, PUBLIC));
  });

  test.each(['0.0.0.0', '10.0.0.1', '169.254.169.254', 'fe80::1', 'fd00:ec2::254', '::'])(
    'refuses %s even if the deployment is local',
    async (address) => {
      expect((await lookUp(['127.0.0.1', address], true)).error).toMatchObject({
        reason: 'address-rejected',
      });
    },
  );

  describe('of a private host', () => {
    const listed: SourcePolicy = { ...POLICY, privateHosts: [HOST] };
    const answer = (found: string[], policy = listed, host = HOST) =>
      asked(guardedLookup(policy, resolver(found)), host);

    test.each(['10.0.0.1', '172.16.0.1', '192.168.1.1', '100.64.0.1', 'fd12::1', '::ffff:10.0.0.1', PUBLIC])(
      'returns %s',
      async (address) => {
        expect(await answer([address])).toEqual(resolvesTo(address));
      },
    );

    test.each([
      ...['169.254.169.254', '169.254.170.2', 'fd00:ec2::254', 'fd00:ec2::23', 'fe80::1', '64:ff9b::a9fe:a9fe'],
      ...['127.0.0.1', '::1', '0.0.0.0', '224.0.0.1', '198.18.0.1', '255.255.255.255', '::ffff:a9fe:a9fe', 'x'],
    ])('refuses %s, alone or after a private address', async (address) => {
      for (const found of [[address], ['10.0.0.1', address]]) {
        expect((await answer(found)).error).toMatchObject({ reason: 'address-rejected' });
      }
    });

    test.each(['other.example.com', `a.${HOST}`, `${HOST}.evil.example`, `x${HOST}`])(
      'refuses a private address for another host: %s',
      async (host) => {
        expect((await answer(['10.0.0.1'], listed, host)).error).toMatchObject({ reason: 'address-rejected' });
      },
    );

    test('refuses a private address if the host is not in privateHosts, and names that setting', async () => {
      const unlisted = { ...listed, privateHosts: [] };
      expect((await answer(['10.0.0.1'], unlisted)).error).toMatchObject({
        reason: 'address-rejected',
        setting: 'crm.privateHosts',
      });
      expect((await answer(['127.0.0.1'], unlisted)).error).toMatchObject({ setting: undefined });
    });
  });

  test('passes the error of the resolver through', async () => {
    const failure = Object.assign(new Error('getaddrinfo'), { code: 'ENOTFOUND' });
    const lookup = guardedLookup(POLICY, (_host, _options, callback) => callback(failure, []));

    expect((await asked(lookup)).error).toBe(failure);
  });

  test('uses the resolver of the system by default', async () => {
    expect((await asked(guardedLookup(POLICY), 'localhost')).error).toMatchObject({
      reason: 'address-rejected',
      message: expect.stringContaining('loopback'),
    });
  });
});

test('a connection goes to the checked address, with one query to the resolver', async () => {
  const port = await portOf(createServer((_, response) => response.end('inside')));
  const resolve = resolver(['127.0.0.1'], ['127.0.0.2']);
  const agent = agentFor('http:', { lookup: guardedLookup(LOCAL, resolve) });
  onTestFinished(() => agent.destroy());

  const answer = await new Promise<string>((done, failed) => {
    get({ host: HOST, port, agent }, (response) => text(response).then(done, failed)).on('error', failed);
  });

  expect(answer).toBe('inside');
  expect(resolve.asked).toEqual([HOST]);
});
