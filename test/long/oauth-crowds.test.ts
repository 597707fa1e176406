import { oauthCrowds } from '../oauth/support/crowds.ts';

/** The crowds of processes: what a few prove in `test/e2e/oauth-processes.slow.test.ts`, with as many as a bad night may have. */

const { testOnExpiredToken, testGenerations, testNothingLeaked } = oauthCrowds();

testOnExpiredToken([
  [20, 15],
  [20, 50],
]);
testGenerations(20);
testNothingLeaked();
