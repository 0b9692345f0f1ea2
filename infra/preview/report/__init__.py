"""The preview's report: one model, drawn as terminal text, Markdown, HTML, JSON or Mermaid."""
