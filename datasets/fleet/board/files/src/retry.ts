%%born retry
export interface RetryPolicy {
  attempts: number;
  firstMs: number;
}

export const DEFAULT_RETRY: RetryPolicy = { attempts: «attempts», firstMs: 500 };

const sleep = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));

/** Call `action` until it succeeds or the attempts are used up. */
export async function withRetry<T>(action: () => Promise<T>, policy = DEFAULT_RETRY): Promise<T> {
  let lastError: unknown;
  for (let attempt = 0; attempt < policy.attempts; attempt++) {
    try {
      return await action();
    } catch (error) {
      lastError = error;
%%if retry-jitter
      await sleep(policy.firstMs * 2 ** attempt * (0.5 + Math.random()));
%%else
      await sleep(policy.firstMs * 2 ** attempt);
%%end
    }
  }
  throw lastError;
}
