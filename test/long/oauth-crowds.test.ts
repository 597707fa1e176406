import { oauthCrowds } from '../oauth/support/crowds.ts';

/** Repeats `test/e2e/oauth-processes.slow.test.ts` with as many processes as on a bad night. */

const { testOnExpiredToken, testTokenSets, testNothingLeaked } = oauthCrowds();

testOnExpiredToken([
  [20, 15],
  [20, 50],
]);
testTokenSets(20);
testNothingLeaked();
