// Usage: node app.mjs TRACER SCENARIO. Answers one question from the pages of corpus.py.
import { execFileSync } from "node:child_process";
import { z } from "zod";
import { finish, load, under } from "./telemetry.mjs";

const [tracer, scenario] = process.argv.slice(2);
const script = "import corpus, json; print(json.dumps([corpus.PAGES, corpus.QUESTION]))";
const [pages, question] = JSON.parse(execFileSync(process.env.PYTHON ?? "python3", ["-c", script]));
const texts = Object.values(pages);
const { ai, settings, chat, embedder, reranker } = await load(tracer);
const system = "Answer from the context only.";
const prompted = (context, asked = question) => `Context:\n${context.join("\n\n")}\n\nQuestion: ${asked}`;

// The index is built before anything is traced.
const { embeddings } = await ai.embedMany({
  model: embedder,
  values: texts,
  experimental_telemetry: { isEnabled: false },
  telemetry: { isEnabled: false },
});

function nearest(vector, count) {
  const scored = texts.map((text, at) => ({ text, score: ai.cosineSimilarity(vector, embeddings[at]) }));
  return scored.sort((a, b) => b.score - a.score).slice(0, count);
}

async function search(query, count = 3, content = true) {
  const { embedding } = await ai.embed({ model: embedder, value: query, ...settings("embed-question", content) });
  return nearest(embedding, count).map((found) => found.text);
}

async function answer(content = true) {
  const context = await search(question, 3, content);
  const { text } = await ai.generateText({
    model: chat,
    [tracer === "built-in" ? "system" : "instructions"]: system,
    prompt: prompted(context),
    ...settings("answer", content),
  });
  return text;
}

const scenarios = {
  rag: () => under("POST /ask", answer),
  no_parent: answer,
  content_off: () => under("POST /ask", () => answer(false)),

  stream: () =>
    under("POST /ask", async () => {
      const context = await search(question);
      const messages = [{ role: "user", content: prompted(context) }];
      const { textStream } = ai.streamText({ model: chat, messages, ...settings("answer") });
      for await (const _ of textStream);
    }),

  many_queries: () =>
    under("POST /ask", async () => {
      const { text } = await ai.generateText({
        model: chat,
        prompt: `Write two search queries, one a line, for: ${question}`,
        ...settings("queries"),
      });
      const found = await ai.embedMany({ model: embedder, values: text.split("\n"), ...settings("embed-queries") });
      const context = new Set(found.embeddings.flatMap((vector) => nearest(vector, 2).map((page) => page.text)));
      await ai.generateText({ model: chat, prompt: prompted([...context]), ...settings("answer") });
    }),

  rerank: () =>
    under("POST /ask", async () => {
      const documents = await search(question, 5);
      const { ranking } = await ai.rerank({ model: reranker, query: question, documents, topN: 2, ...settings("rerank") });
      const context = ranking.map((item) => item.document);
      await ai.generateText({ model: chat, prompt: prompted(context), ...settings("answer") });
    }),

  tool: () =>
    under("POST /ask", () =>
      ai.generateText({
        model: chat,
        [tracer === "built-in" ? "system" : "instructions"]: system,
        prompt: question,
        stopWhen: ai.stepCountIs(3),
        tools: {
          searchHandbook: ai.tool({
            description: "Search the ferry handbook",
            inputSchema: z.object({ query: z.string() }),
            execute: async ({ query }) => ({ documents: (await search(query, 2)).map((content) => ({ content })) }),
          }),
        },
        ...settings("answer"),
      }),
    ),
};

await scenarios[scenario]();
await finish();
