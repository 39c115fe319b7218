-- What runs cost. Amounts are integers of pico-USD (10^-12 USD); null where no price is known.

alter table chat.runs
  add column cache_write_tokens bigint,
  add column cost_pico bigint,
  add column price_source text constraint runs_price_source_check check (price_source in ('catalogue', 'genai-prices')),
  -- Every call with tokens in it has a price.
  add column priced boolean,
  add constraint runs_ended_at_check check ((status = 'started') = (ended_at is null));

alter table chat.attempts
  add column cache_write_tokens bigint,
  add column cost_pico bigint,
  add column price_source text
    constraint attempts_price_source_check check (price_source in ('catalogue', 'genai-prices'));
