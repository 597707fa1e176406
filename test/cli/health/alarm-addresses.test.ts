import { SNSClient } from '@aws-sdk/client-sns';
import { expect, test } from 'vitest';
import { alarmAddresses } from '../../../cli/health/night-checks.ts';
import { mailDigest } from '../../../core/config/deployed.ts';
import { xml } from '../support/cloud/answers.ts';
import { aws } from '../support/cloud/cloud.ts';

const ARN = 'arn:aws:sns:us-east-1:000000000000:alarms';

/** A topic that answers with these pages, each a list of the ARNs of subscriptions. */
async function topic(...pages: string[][]) {
  let turn = 0;
  const { client } = await aws({
    ListSubscriptionsByTopic: () => {
      const members = (pages[turn] ?? []).map(
        (arn) =>
          `<member><SubscriptionArn>${arn}</SubscriptionArn><Protocol>email</Protocol><Endpoint>ops@example.com</Endpoint></member>`,
      );
      turn += 1;
      const next = turn < pages.length ? `<NextToken>${turn}</NextToken>` : '';
      const result = `<Subscriptions>${members.join('')}</Subscriptions>${next}`;
      return xml(
        `<ListSubscriptionsByTopicResponse><ListSubscriptionsByTopicResult>${result}</ListSubscriptionsByTopicResult></ListSubscriptionsByTopicResponse>`,
      );
    },
  });
  return { AlarmTopicArn: ARN, sns: client(SNSClient) };
}

test('holds if all addresses are confirmed', async () => {
  expect(await alarmAddresses(await topic([`${ARN}:1`], [`${ARN}:2`]))).toMatchObject({
    verdict: 'holds',
    found: 'Alarms go to 2 confirmed subscriptions.',
  });
});

test.each(['PendingConfirmation', 'Deleted'])(
  'warns of an address whose subscription is %s, even if another is confirmed, and does not show it',
  async (arn) => {
    const addresses = ['Ops@example.com', 'night@example.com'].map(mailDigest);
    const check = await alarmAddresses(await topic([`${ARN}:1`, arn]), addresses);
    expect(check).toMatchObject({
      verdict: 'warning',
      found: expect.stringContaining('addresses of alarms.email without a confirmed subscription: 1.'),
      advice: expect.stringMatching(/^The link in the mail .* aws sns subscribe --topic-arn arn:/),
    });
    expect(JSON.stringify(check)).not.toMatch(/ops@|night@/i);
    expect(await alarmAddresses(await topic([`${ARN}:1`, arn]), addresses.slice(0, 1))).toMatchObject({
      verdict: 'holds',
    });
  },
);

test('warns that alarms reach no person if there is no address, or each has unsubscribed', async () => {
  for (const page of [[], ['Deleted']]) {
    expect(await alarmAddresses(await topic(page))).toMatchObject({
      verdict: 'warning',
      found: expect.stringMatching(/^Alarms reach no person/),
      advice: expect.stringContaining('alarms.email'),
    });
  }
});
