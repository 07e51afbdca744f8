window.BENCHMARK_DATA = {
 "lastUpdate": 1786961600000,
 "repoUrl": "https://github.com/org/repo",
 "entries": {
  "Go": [
   {
    "commit": {
     "id": "9a1f6b0c2d3e4f5061728394a5b6c7d8e9f00112",
     "message": "Add it\n\nlong text",
     "timestamp": "2026-08-20T10:11:12+02:00",
     "url": "https://github.com/org/repo/commit/9a1f6b0c2d3e4f5061728394a5b6c7d8e9f00112",
     "author": {
      "name": "A. Uthor",
      "email": "a@example.org",
      "username": "a"
     },
     "committer": {
      "username": "a"
     }
    },
    "date": 1786961600000,
    "tool": "go",
    "benches": [
     {
      "name": "BenchmarkEncode",
      "value": 1726.5,
      "unit": "ns/op",
      "extra": "690848 times\n8 procs"
     },
     {
      "name": "BenchmarkEncode - MB/s",
      "value": 593.25,
      "unit": "MB/s"
     }
    ]
   },
   {
    "commit": {
     "id": "9a1f6b0c2d3e4f5061728394a5b6c7d8e9f00112",
     "message": "Add it",
     "timestamp": "2026-08-20T10:11:12+02:00",
     "author": {
      "username": "a"
     }
    },
    "date": 1786965200000,
    "tool": "go",
    "benches": [
     {
      "name": "BenchmarkEncode",
      "value": 1730.0,
      "unit": "ns/op"
     }
    ]
   }
  ],
  "Sizes": [
   {
    "commit": {
     "id": "0b1f6b0c2d3e4f5061728394a5b6c7d8e9f00112",
     "message": "Shrink",
     "timestamp": "2026-08-21T10:11:12Z",
     "author": {
      "username": "b"
     }
    },
    "date": 1787050000000,
    "tool": "customSmallerIsBetter",
    "benches": [
     {
      "name": "wheel",
      "value": 1048576,
      "unit": "bytes"
     }
    ]
   }
  ]
 }
};
