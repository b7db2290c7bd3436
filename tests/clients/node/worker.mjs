// The Vercel AI SDK as a client: reads jobs, one JSON document a line, and writes an outcome for each.
import { createInterface } from "node:readline";

import { createAnthropic } from "@ai-sdk/anthropic";
import { createOpenAI } from "@ai-sdk/openai";
import { generateText, jsonSchema, stepCountIs, streamText, tool } from "ai";

// Its hints would go to our output.
globalThis.AI_SDK_LOG_WARNINGS = false;

const MODELS = {
  chat: (job) => createOpenAI({ baseURL: job.base_url, apiKey: job.api_key }).chat(job.task.model),
  responses: (job) => createOpenAI({ baseURL: job.base_url, apiKey: job.api_key }).responses(job.task.model),
  messages: (job) =>
    createAnthropic({ baseURL: `${job.anthropic_base_url}/v1`, apiKey: job.api_key })(job.task.model),
};

// The client's own tools: a call to any other is an error.
function toolsOf(task, calls) {
  const made = ({ name, description, parameters }) => [
    name,
    tool({
      description,
      inputSchema: jsonSchema(parameters),
      execute: async (given) => {
        calls.push([name, given]);
        return JSON.stringify(task.records[name][Object.values(given)[0]] ?? { error: "there is no such record" });
      },
    }),
  ];
  return Object.fromEntries(task.tools.map(made));
}

// The first answer that is whole. Where nothing is to fail, the first failure counts.
async function askingAgain(job, ask) {
  for (let tries = job.patient ? 10 : 0; tries > 0; tries -= 1) {
    try {
      return await ask();
    } catch {
      continue;
    }
  }
  return ask();
}

async function answer(job, given, told) {
  let text, response, usage, finishReason;
  if (job.stream) {
    const result = streamText({ ...given, onError: () => {} });
    const parts = [];
    for await (const part of result.fullStream) {
      if (part.type === "error") throw part.error;
      parts.push(part.type);
    }
    told.push(parts);
    [text, response, usage, finishReason] = await Promise.all([
      result.text,
      result.response,
      result.totalUsage,
      result.finishReason,
    ]);
  } else {
    ({ text, response, totalUsage: usage, finishReason } = await generateText(given));
  }
  if (finishReason !== "stop" || !text.endsWith(".")) throw new Error(`not whole: ${finishReason} ${text}`);
  return { text, response, usage };
}

async function converse(job) {
  const { task } = job;
  const calls = [];
  const answers = [];
  const told = [];
  const messages = [];
  const common = {
    model: MODELS[job.client](job),
    system: task.system,
    tools: toolsOf(task, calls),
    stopWhen: stepCountIs(30),
    maxOutputTokens: 2000,
    maxRetries: 0,
  };
  for (const question of task.questions) {
    messages.push({ role: "user", content: question });
    const { text, response, usage } = await askingAgain(job, () => answer(job, { ...common, messages }, told));
    messages.push(...response.messages);
    answers.push(text);
    told.push(usage);
  }
  // The tools of one step run at once: their order says nothing.
  calls.sort((one, other) => (JSON.stringify(one) < JSON.stringify(other) ? -1 : 1));
  return { answers, calls, history: [messages, told] };
}

for await (const line of createInterface({ input: process.stdin })) {
  let outcome;
  try {
    outcome = await converse(JSON.parse(line));
  } catch (error) {
    outcome = { error: `${error.name}: ${error.message} ${error.responseBody ?? ""}` };
  }
  process.stdout.write(`${JSON.stringify(outcome)}\n`);
}
